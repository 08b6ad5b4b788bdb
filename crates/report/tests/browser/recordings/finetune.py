"""A fine-tuning with HF Trainer, of a tiny BERT made from a config: nothing is downloaded.

    python3 finetune.py [--fixed] [--steps 400]

Its trainer keeps every batch's logits for a later evaluation, each with its graph. With --fixed it keeps numbers.
"""

import argparse
import os
import tempfile
import time

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments


class Reviews(torch.utils.data.Dataset):
    """Sentences of made-up words, and whether they please."""

    def __init__(self, count):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        words = torch.arange(index, index + 48) % 1000
        time.sleep(0.004)
        return {"input_ids": words, "labels": torch.tensor(index % 2)}


class ScoringTrainer(Trainer):
    fixed = False

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.scores = []

    def compute_loss(self, model, inputs, return_outputs=False, **kwargs):
        loss, outputs = super().compute_loss(model, inputs, return_outputs=True, **kwargs)
        score = outputs.logits.mean(dim=1)
        if self.fixed:
            score = score.detach().tolist()
        self.scores.append(score)
        return (loss, outputs) if return_outputs else loss


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    ScoringTrainer.fixed = args.fixed
    torch.set_num_threads(1)
    torch.manual_seed(0)
    config = BertConfig(vocab_size=1000, hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128)
    with tempfile.TemporaryDirectory() as folder:
        arguments = TrainingArguments(
            output_dir=folder,
            max_steps=args.steps,
            per_device_train_batch_size=8,
            use_cpu=True,
            eval_strategy="epoch",
            save_strategy="no",
            logging_steps=20,
            report_to=[],
            disable_tqdm=True,
        )
        model = BertForSequenceClassification(config)
        trainer = ScoringTrainer(model, arguments, train_dataset=Reviews(400), eval_dataset=Reviews(80))
        trainer.train()


if __name__ == "__main__":
    main()
