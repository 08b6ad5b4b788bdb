# Graphs retained.
import torch


def loop(net, data, opt):
    for x in data:
        cost = net(x).mean()
        cost.backward(retain_graph=True)  # LT106
        opt.step()


class Trainer:
    def training_step(self, cost):
        cost.backward(retain_graph=True)  # LT106

    def run(self, costs):
        while costs:
            self.training_step(costs.pop())


def second(net, data):
    for x in data:
        cost = net(x).mean()
        cost.backward(create_graph=True)  # LT106


def lightning(self, batches):
    for b in batches:
        self.manual_backward(self(b), retain_graph=True)  # LT106 hint


def two(costs):
    for a, b in costs:
        a.backward(retain_graph=True)  # LT106 hint
        b.backward(retain_graph=True)  # LT106 hint


def once(cost):
    cost.backward(retain_graph=True)


def shared(costs):
    for a, b in costs:
        a.backward(retain_graph=True)
        b.backward()


def plain(costs):
    for a in costs:
        a.backward()
        a.backward(retain_graph=False)


def penalty(net, data):
    for x in data:
        out = net(x).sum()
        (g,) = torch.autograd.grad(out, x, create_graph=True)
        (out + g.norm()).backward()


def chosen(costs, keep):
    for a in costs:
        a.backward(retain_graph=keep)


# A hint: without a step in the loop, the passes may belong to one and share a graph.
def particles(traces):
    for trace in traces():
        (-trace.value()).backward(retain_graph=True)  # LT106 hint


class Hooked:
    def backward(self, cost):
        cost.backward(retain_graph=True)  # LT106 hint


for cost in []:
    Hooked().backward(cost)
