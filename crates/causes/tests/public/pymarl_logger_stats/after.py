import logging
from collections import defaultdict

import torch


class StatsLogger:
    def __init__(self):
        self.console = logging.getLogger("marl")
        self.stats = defaultdict(list)

    def log_stat(self, key, value, t):
        self.stats[key].append((t, value))

    def print_recent_stats(self, window=5):
        lines = []
        for key, points in sorted(self.stats.items()):
            recent = [float(value) for _, value in points[-window:]]
            lines.append(f"{key}: {sum(recent) / len(recent):.4f}")
        self.console.info("\n".join(lines))
        self.stats.clear()


class QLearner:
    def __init__(self, mac, mixer, logger, lr=5e-4):
        self.mac = mac
        self.mixer = mixer
        self.logger = logger
        self.params = list(mac.parameters()) + list(mixer.parameters())
        self.optimiser = torch.optim.RMSprop(self.params, lr=lr, alpha=0.99, eps=1e-5)

    def train(self, batch, t_env):
        chosen = self.mac.forward(batch).gather(3, batch["actions"]).squeeze(3)
        total = self.mixer(chosen, batch["state"])
        error = (total - batch["targets"].detach()) * batch["filled"]
        loss = error.pow(2).sum() / batch["filled"].sum()
        self.optimiser.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.params, 10)
        self.optimiser.step()
        self.logger.log_stat("loss", loss.item(), t_env)
        self.logger.log_stat("grad_norm", norm, t_env)
        self.logger.log_stat("td_error_abs", error.abs().sum().item(), t_env)


def run(runner, learner, buffer, logger, t_max):
    while runner.t_env < t_max:
        buffer.insert(runner.run())
        if buffer.can_sample(32):
            learner.train(buffer.sample(32), runner.t_env)
        if runner.t_env % 10_000 == 0:
            logger.print_recent_stats()
