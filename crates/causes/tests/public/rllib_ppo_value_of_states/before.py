import numpy as np
import torch
from torch import nn


class ActorCritic(nn.Module):
    def __init__(self, observations, actions):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(observations, 256), nn.Tanh())
        self.policy_head = nn.Linear(256, actions)
        self.value_head = nn.Linear(256, 1)

    def forward(self, observation):
        features = self.body(observation)
        return self.policy_head(features), self.value_head(features).squeeze(-1)


class PPOPolicy:
    def __init__(self, observations, actions, config):
        self.model = ActorCritic(observations, actions)
        self.config = config
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=config["lr"])

    def compute_action(self, observation):
        with torch.no_grad():
            logits, _ = self.model(torch.as_tensor(observation).float())
        return torch.distributions.Categorical(logits=logits).sample().item()

    def value(self, observation):
        _, value = self.model(torch.as_tensor(observation).float())
        return value

    def learn(self, batch):
        logits, values = self.model(batch["obs"])
        chosen = torch.distributions.Categorical(logits=logits).log_prob(batch["actions"])
        loss = -(chosen * batch["advantages"]).mean() + (values - batch["targets"]).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


class Sampler:
    def __init__(self, env, policy):
        self.env = env
        self.policy = policy
        self.rows = []

    def rollout(self, length):
        observation, done = self.env.reset(), False
        while not done and len(self.rows) < length:
            action = self.policy.compute_action(observation)
            following, reward, done, _ = self.env.step(action)
            value = self.policy.value(observation)
            self.rows.append({"obs": observation, "action": action, "reward": reward, "value": value})  # the leak
            observation = following
        return self.rows


def advantages(rows, gamma):
    out, carry = np.zeros(len(rows), dtype=np.float32), 0.0
    for i in reversed(range(len(rows))):
        carry = rows[i]["reward"] + gamma * carry
        out[i] = carry - float(rows[i]["value"])
    return out


def train(env, policy, iterations):
    sampler = Sampler(env, policy)
    for _ in range(iterations):
        rows = sampler.rollout(length=100_000)[-2000:]
        batch = {
            "obs": torch.tensor(np.stack([row["obs"] for row in rows])).float(),
            "actions": torch.tensor([row["action"] for row in rows]),
            "advantages": torch.tensor(advantages(rows, policy.config["gamma"])),
        }
        batch["targets"] = batch["advantages"] + torch.tensor([float(row["value"]) for row in rows])
        policy.learn(batch)
