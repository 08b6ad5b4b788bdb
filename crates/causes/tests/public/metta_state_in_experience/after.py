import torch
from torch import nn


class Experience:
    """Steps of the past, to learn from again."""

    def __init__(self):
        self.states = []
        self.rewards = []

    def store(self, state, reward):
        self.states.append(state)
        self.rewards.append(float(reward))

    def __len__(self):
        return len(self.rewards)

    def sample(self, size):
        picks = torch.randint(0, len(self), (size,)).tolist()
        return torch.cat([self.states[i] for i in picks], dim=1), torch.tensor([self.rewards[i] for i in picks])


class Policy(nn.Module):
    def __init__(self, observations, actions, width=128):
        super().__init__()
        self.encoder = nn.Linear(observations, width)
        self.lstm = nn.LSTM(width, width)
        self.actor = nn.Linear(width, actions)
        self.critic = nn.Linear(width, 1)

    def forward(self, observation, state):
        hidden = torch.relu(self.encoder(observation)).unsqueeze(0)
        out, state = self.lstm(hidden, state)
        return self.actor(out[0]), state


def rollout(env, policy, experience, steps):
    observation, state = env.reset(), None
    for _ in range(steps):
        logits, (h, c) = policy(observation, state)
        action = torch.distributions.Categorical(logits=logits).sample()
        observation, reward, done = env.step(action)
        experience.store(h.detach(), reward)
        state = None if done else (h.detach(), c.detach())


def train(env, policy, optimizer, updates):
    experience = Experience()
    for _ in range(updates):
        rollout(env, policy, experience, steps=64)
        states, rewards = experience.sample(256)
        value = policy.critic(states[0].detach()).squeeze(1)
        loss = (value - rewards).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
