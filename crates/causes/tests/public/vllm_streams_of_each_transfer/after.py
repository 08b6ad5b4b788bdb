import torch


class PackedSender:
    """Packs the weights of a policy into two buffers and sends one while the other is filled."""

    def __init__(self, send, buffer_bytes=1 << 30):
        self.send = send
        self.buffer_bytes = buffer_bytes
        self.streams = [torch.cuda.Stream() for _ in range(2)]

    def chunks(self, weights):
        chunk, size = [], 0
        for name, weight in weights:
            chunk.append((name, weight))
            size += weight.numel() * weight.element_size()
            if size >= self.buffer_bytes:
                yield chunk
                chunk, size = [], 0
        if chunk:
            yield chunk

    def transfer(self, weights):
        streams = self.streams
        for number, chunk in enumerate(self.chunks(weights)):
            stream = streams[number % 2]
            stream.synchronize()
            with torch.cuda.stream(stream):
                packed = torch.cat([weight.detach().flatten().view(torch.uint8) for _, weight in chunk])
                self.send([name for name, _ in chunk], packed)
        for stream in streams:
            stream.synchronize()


def train(policy, optimizer, rollouts, send, steps):
    sender = PackedSender(send)
    for step in range(steps):
        prompts, completions, advantages = rollouts(step)
        logprobs = policy(prompts, completions)
        loss = -(logprobs * advantages).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        sender.transfer(policy.named_parameters())
        print(step, loss.item())
