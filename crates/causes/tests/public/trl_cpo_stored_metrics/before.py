from collections import defaultdict

import torch
import torch.nn.functional as F
from transformers import Trainer


class PreferenceTrainer(Trainer):
    def __init__(self, *args, beta=0.1, alpha=1.0, **kwargs):
        super().__init__(*args, **kwargs)
        self.beta = beta
        self.alpha = alpha
        self._stored_metrics = defaultdict(lambda: defaultdict(list))

    def likelihoods(self, model, ids, labels):
        logits = model(ids).logits[:, :-1]
        picked = logits.log_softmax(-1).gather(2, labels[:, 1:].clamp(min=0).unsqueeze(2)).squeeze(2)
        mask = labels[:, 1:] != -100
        return (picked * mask).sum(-1), -(picked * mask).sum() / mask.sum()

    def batch_metrics(self, model, batch, split):
        chosen, nll_loss = self.likelihoods(model, batch["chosen_input_ids"], batch["chosen_labels"])
        rejected, _ = self.likelihoods(model, batch["rejected_input_ids"], batch["rejected_labels"])
        preference = -F.logsigmoid(self.beta * (chosen - rejected)).mean()
        loss = preference + self.alpha * nll_loss
        metrics = {
            f"{split}/rewards_chosen": (self.beta * chosen).detach().mean().cpu(),
            f"{split}/rewards_rejected": (self.beta * rejected).detach().mean().cpu(),
            f"{split}/nll_loss": nll_loss,
        }
        return loss, metrics

    def compute_loss(self, model, inputs, return_outputs=False):
        loss, metrics = self.batch_metrics(model, inputs, "train")
        self.store_metrics(metrics, "train")  # the leak
        return (loss, metrics) if return_outputs else loss

    def store_metrics(self, metrics, split):
        for key, value in metrics.items():
            self._stored_metrics[split][key].append(value)  # the leak

    def log(self, logs):
        split = "train" if "loss" in logs else "eval"
        for key, values in self._stored_metrics[split].items():
            logs[key] = torch.tensor(values).mean().item()
        del self._stored_metrics[split]
        return super().log(logs)
