# Loops with the same variable.


def nodes(all_nodes):
    for node in all_nodes:
        for node in node.children:  # LT209
            node.train()
        node.to("cpu")


def readers(paths, opened):
    for reader in opened:
        reader.start()
        for reader in paths:  # LT209
            print(reader)
        reader.close()


def shards(all_shards):
    for shard in all_shards:
        for shard in shard.parts:  # LT209
            shard.read()
        shard.data = None


def models(nets, xs):
    for net in nets:
        for net in net.heads:  # LT209
            net(xs)
        print(xs)
        del net


class Turn:
    def run(self, clients):
        for client in clients:
            for client in client.peers:  # LT209
                client.send()
            client.model.cpu()


# Harmless.
def other_names(all_nodes):
    for node in all_nodes:
        for child in node.children:
            child.train()
        node.to("cpu")


def in_comprehension(all_nodes):
    for node in all_nodes:
        names = [node.name for node in node.children]
        print(names)
        node.to("cpu")


def not_used_after(all_nodes):
    for node in all_nodes:
        for node in node.children:
            node.to("cpu")


def one_after_the_other(all_nodes):
    for node in all_nodes:
        node.start()
    for node in all_nodes:
        node.to("cpu")


def counters(n):
    for i in range(n):
        for i in range(3):
            print(i)
        print(i)


def used_after(all_nodes):
    for node in all_nodes:
        for node in node.children:  # LT209 hint
            node.train()
        node.save()


def from_outside(model, models, rounds):
    for _ in range(rounds):
        model.train()
        for model in models:  # LT209 hint
            model.eval()


def each_its_own(models, rounds):
    for _ in range(rounds):
        for model in models:
            model.train()
        for model in models:
            model.eval()
