import torch


class TaskWorld:
    def __init__(self, teacher, agent):
        self.teacher = teacher
        self.agent = agent

    def parley(self):
        act = self.teacher.act()
        self.agent.observe(act)
        self.teacher.observe(self.agent.act())

    def num_examples(self):
        return sum(1 for _ in self.teacher.episodes())


class BackgroundWorld:
    """Gives batches of a world, in whose place it stands."""

    def __init__(self, world, batch):
        self.inner_world = world
        self.batch = batch

    def parley(self):
        for _ in range(self.batch):
            self.inner_world.parley()

    def num_examples(self):
        if not hasattr(self, "_num_examples"):
            self._num_examples = self.inner_world.num_examples()
        return self._num_examples


class TorchAgent:
    def __init__(self, options):
        self.model = torch.load(options["model_file"], map_location="cuda")
        self.seen = None

    def observe(self, message):
        self.seen = message

    def act(self):
        with torch.no_grad():
            return self.model(self.seen["vector"])


def evaluate(options, teacher, split):
    world = BackgroundWorld(TaskWorld(teacher(split), TorchAgent(options)), options["batch"])
    examples = world.num_examples()
    for _ in range(examples // options["batch"]):
        world.parley()
    return examples


def main(options, teacher):
    for split in ("valid", "test"):
        print(split, evaluate(options, teacher, split))
