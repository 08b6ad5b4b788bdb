# Lists of which a step needs the last part only, and objects that functions are given without a word of what they are.
import collections

import torch
from torch import nn
from torch.distributions import Categorical, Normal


def reinforce(env, policy: nn.Module, sgd, turns, horizon=16):
    chances, rewards = [], []
    for _ in range(turns):
        seen = env.reset()
        for _ in range(horizon):
            choice = Categorical(logits=policy(seen))
            move = choice.sample()
            chances.append(choice.log_prob(move))  # LT103
            seen, reward, _, _ = env.step(move)
            rewards.append(float(reward))
        last = torch.stack(chances[-horizon:])
        loss = -(last * torch.tensor(rewards[-horizon:])).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()


def windowed(net: nn.Module, feed, sgd):
    parts = []
    for rows, aims in feed:
        parts.append(nn.functional.l1_loss(net(rows), aims))  # LT103
        loss = sum(parts[-3:])
        sgd.zero_grad()
        loss.backward(retain_graph=True)  # LT106
        sgd.step()


class Player:
    def __init__(self, width):
        self.brain = nn.Linear(width, 3)
        self.doubts = []
        self.values = []
        self.points = []


def play(player, seen):
    choice = Categorical(logits=player.brain(seen))
    player.doubts.append(choice.entropy())  # LT103
    move = choice.sample()
    return move, choice.log_prob(move)


def value_of(one, seen):
    guess = one.brain(seen).mean()
    one.values.append(guess)  # LT103
    one.points.append(guess.item())
    return guess


def season(env, games):
    player = Player(8)
    sgd = torch.optim.SGD(player.brain.parameters(), lr=0.1)
    for _ in range(games):
        seen, over, loss = env.reset(), False, 0.0
        while not over:
            move, chance = play(player, seen)
            guess = value_of(player, seen)
            seen, reward, over = env.step(move)
            loss = loss - chance * (reward - guess)
        sgd.zero_grad()
        loss.backward()
        sgd.step()


class Trace:
    def __init__(self):
        self.steps = []


def note(trace, net: nn.Module, rows):
    spread = Normal(net(rows), 1.0)
    trace.steps.append(spread.rsample())  # LT103
    return spread


def traced(net: nn.Module, feed, sgd):
    trace = Trace()
    for rows in feed:
        spread = note(trace, net, rows)
        loss = spread.rsample().pow(2).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()


# Harmless.


class Pass:
    """One for each batch."""

    def __init__(self):
        self.parts = []


def add(one, net: nn.Module, row):
    one.parts.append(net(row))


def add_made(one, value):
    one.parts.append(value)


def by_batch(net: nn.Module, feed, sgd):
    for rows in feed:
        one = Pass()
        for row in rows:
            add(one, net, row)
            add_made(one, net(row))
        loss = torch.stack(one.parts).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()


def each_turn(env, policy: nn.Module, sgd, turns, horizon=16):
    for _ in range(turns):
        chances = []
        seen = env.reset()
        for _ in range(horizon):
            choice = Categorical(logits=policy(seen))
            move = choice.sample()
            chances.append(choice.log_prob(move))
            seen = env.step(move)[0]
        loss = -torch.stack(chances[1:]).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()


def cut(env, policy: nn.Module, sgd, turns, horizon=16):
    chances = []
    for _ in range(turns):
        seen = env.reset()
        for _ in range(horizon):
            choice = Categorical(logits=policy(seen))
            move = choice.sample()
            chances.append(choice.log_prob(move))
            seen = env.step(move)[0]
        loss = -torch.stack(chances[-horizon:]).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        del chances[:]


def window_of_numbers(net: nn.Module, feed, sgd):
    seen = []
    recent = collections.deque(maxlen=4)
    for rows in feed:
        loss = net(rows).mean()
        seen.append(loss.item())
        recent.append(loss.detach())  # LT310 hint
        scale = sum(seen[-10:])
        sgd.zero_grad()
        (loss * scale).backward()
        sgd.step()


def summed(net: nn.Module, feed, sgd):
    """One backward for all of it, after the loop."""
    parts = []
    for rows in feed:
        parts.append(net(rows).mean())
    loss = sum(parts[1:])
    sgd.zero_grad()
    loss.backward()
    sgd.step()


class Guest:
    def __init__(self, width):
        self.brain = nn.Linear(width, 3)
        self.doubts = []


def visit(guest, seen):
    choice = Categorical(logits=guest.brain(seen))
    guest.doubts.append(choice.entropy())
    return choice.sample(), choice.log_prob(choice.sample())


def visits(env, games):
    guest = Guest(8)
    sgd = torch.optim.SGD(guest.brain.parameters(), lr=0.1)
    for _ in range(games):
        seen, loss = env.reset(), 0.0
        for _ in range(10):
            move, chance = visit(guest, seen)
            seen, reward, _ = env.step(move)
            loss = loss - chance * reward
        loss = loss - 0.01 * torch.stack(guest.doubts).sum()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        guest.doubts.clear()


class Left:
    def __init__(self):
        self.kept = []


class Right:
    def __init__(self):
        self.kept = collections.deque(maxlen=2)


def either(side, value):
    side.kept.append(value)


def of_two(net: nn.Module, feed, sgd):
    left, right = Left(), Right()
    for rows in feed:
        loss = net(rows).mean()
        sgd.zero_grad()
        loss.backward()
        sgd.step()
        either(left, loss.item())
        either(right, loss.detach())
