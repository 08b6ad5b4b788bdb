import random

import numpy as np


class SimpleReplayBuffer:
    """A ring of sample batches."""

    def __init__(self, num_slots, replay_proportion=None):
        self.num_slots = num_slots
        self.replay_proportion = replay_proportion
        self.replay_batches = []
        self.replay_index = 0
        self.last_added_batches = []

    def add_batch(self, sample_batch):
        if self.num_slots > 0:
            self.last_added_batches.append(sample_batch)  # the leak
            if len(self.replay_batches) < self.num_slots:
                self.replay_batches.append(sample_batch)
            else:
                self.replay_batches[self.replay_index] = sample_batch
                self.replay_index = (self.replay_index + 1) % self.num_slots

    def replay(self):
        return random.choice(self.replay_batches)


class Sampler:
    def __init__(self, env, policy, fragment=200):
        self.env = env
        self.policy = policy
        self.fragment = fragment

    def sample(self):
        observations, actions, rewards = [], [], []
        state = self.env.reset()
        for _ in range(self.fragment):
            action = self.policy.act(state)
            observations.append(state)
            actions.append(action)
            state, reward, done = self.env.step(action)
            rewards.append(reward)
            if done:
                state = self.env.reset()
        return {"obs": np.stack(observations), "actions": np.array(actions), "rewards": np.array(rewards)}


def train(env, policy, iterations):
    sampler = Sampler(env, policy)
    buffer = SimpleReplayBuffer(num_slots=500)
    for iteration in range(iterations):
        buffer.add_batch(sampler.sample())
        batch = buffer.replay()
        policy.learn_on_batch(batch)
        if iteration % 50 == 0:
            print(iteration, float(batch["rewards"].mean()))
