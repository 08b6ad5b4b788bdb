# Models that a training only asks.
import torch
from torch.nn import functional as F


def distil(student, teacher, loader, optimizer, epochs):
    teacher.eval()
    for _ in range(epochs):
        student.train()
        for x, y in loader:
            wanted = teacher(x).softmax(1)  # LT206
            loss = F.kl_div(student(x).log_softmax(1), wanted, reduction="batchmean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


class Rewarded:
    def __init__(self, policy, reference, optimizer):
        self.policy = policy
        self.reference = reference
        self.optimizer = optimizer

    def fit(self, prompts):
        self.policy.train()
        self.reference.eval()
        for prompt in prompts:
            ratio = self.policy(prompt) - self.reference(prompt)  # LT206
            self.optimizer.zero_grad()
            ratio.mean().backward()
            self.optimizer.step()


def without(student, teacher, loader, optimizer):
    teacher.eval()
    student.train()
    for x, _ in loader:
        with torch.no_grad():
            wanted = teacher(x)
        loss = F.mse_loss(student(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def perceptual(generator, critic, loader, optimizer):
    critic.eval()
    generator.train()
    for x, _ in loader:
        made = generator(x)
        loss = critic(made).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def alternating(one, other, loader, optimizer):
    for x, _ in loader:
        other.eval()
        one.train()
        loss = one(x).mean() + other(x).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        other.train()


def fixed_norms(body, head, loader):
    optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], lr=0.1)
    body.eval()
    head.train()
    for x, _ in loader:
        loss = head(body(x)).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


@torch.no_grad()
def outputs(student, teacher, loader):
    teacher.eval()
    student.train()
    return [teacher(x) - student(x) for x, _ in loader]
