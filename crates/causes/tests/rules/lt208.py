# What an evaluation holds at once.
import numpy
import pytorch_lightning as pl
import torch
import transformers
from torch import nn
from torch.utils.data import DataLoader
from transformers import AutoModelForCausalLM, Seq2SeqTrainer, Trainer


@torch.no_grad()
def score_all(net: nn.Module, data):
    loader = DataLoader(data, batch_size=32)
    batches = list(loader)  # LT208
    right = 0
    for x, y in batches:
        right += (net(x).argmax(1) == y).sum().item()
    return right / len(data)


def validate(net, tasks, count):
    net.eval()
    drawn = [tasks.draw() for _ in range(count)]  # LT208
    with torch.inference_mode():
        return sum(net(support, query).item() for support, query in drawn) / len(drawn)


def test(net: nn.Module, videos, device):
    clips = [videos[i] for i in range(len(videos))]  # LT208
    scores = []
    for clip in clips:
        scores.append(net(clip.to(device)).max().item())
    return scores


class Module(pl.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def training_step(self, batch, at):
        loss = self.net(batch).mean()
        return {"loss": loss, "out": batch}

    def training_epoch_end(self, outputs):  # LT208
        self.log("epoch", self.current_epoch)

    def validation_step(self, batch, at):
        return {"score": self.net(batch), "y": batch}

    def validation_epoch_end(self, outputs):
        self.log("score", torch.cat([one["score"] for one in outputs]).mean())

    def test_step(self, batch, at):
        return self.net(batch).mean()

    def test_epoch_end(self, outputs):
        pass


def accuracy(prediction):
    logits, labels = prediction
    return {"accuracy": (numpy.argmax(logits, axis=-1) == labels).mean()}


def perplexity(prediction):
    return {"loss": prediction.predictions.mean()}


def tune(args, data):
    model = AutoModelForCausalLM.from_pretrained("small")
    trainer = Trainer(model=model, args=args, eval_dataset=data, compute_metrics=accuracy)  # LT208
    return trainer.evaluate()


class OwnTrainer(transformers.Trainer):
    pass


def tune_own(args, data, model):
    OwnTrainer(model, args, eval_dataset=data, compute_metrics=accuracy).evaluate()  # LT208


# Harmless.
def tune_batch_by_batch(args, data, model):
    first = Trainer(
        model, args, eval_dataset=data, compute_metrics=accuracy, preprocess_logits_for_metrics=lambda a, _: a.argmax(-1)
    )
    second = Seq2SeqTrainer(model, args, eval_dataset=data, compute_metrics=perplexity)
    third = Trainer(model, args, eval_dataset=data, compute_metrics=None)
    return first, second, third


@torch.no_grad()
def one_by_one(net: nn.Module, data):
    right = 0
    for x, y in DataLoader(data, batch_size=32):
        right += (net(x).argmax(1) == y).sum().item()
    return right


def validate_twice(net, tasks, count):
    net.eval()
    drawn = [tasks.draw() for _ in range(count)]
    with torch.inference_mode():
        first = [net(support, query).item() for support, query in drawn]
        second = [net(query, support).item() for support, query in drawn]
    return first, second


@torch.no_grad()
def evaluate_names(net: nn.Module, names):
    lines = [name.strip() for name in names]
    for line in lines:
        print(line)
    return net(torch.zeros(1))


@torch.no_grad()
def evaluate_three(net: nn.Module, tasks):
    few = [tasks.draw() for _ in range(3)]
    return [net(one) for one in few]


def train(net: nn.Module, loader, optimizer):
    batches = list(loader)
    for x in batches:
        loss = net(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def evaluate_together(net: nn.Module, rows):
    parts = [rows[i] for i in range(len(rows))]
    return net(torch.stack(parts))


@torch.no_grad()
def eval_sorted(net: nn.Module, rows):
    parts = [rows[i] for i in range(len(rows))]
    parts.sort(key=len)
    for part in parts:
        net(part)


@torch.no_grad()
def eval_texts(net: nn.Module, tokenizer, prompts, device):
    texts = [prompts.clean(prompt) for prompt in prompts]
    found = []
    for text in texts:
        found.append(net(tokenizer(text).input_ids.to(device)).cpu())
    return found
