import av
import numpy as np
import torch


def read_frames(container, indices):
    wanted = set(int(index) for index in indices)
    container.seek(0)
    frames = []
    for number, frame in enumerate(container.decode(video=0)):
        if number > max(wanted):
            break
        if number in wanted:
            frames.append(frame.to_ndarray(format="rgb24"))
    return np.stack(frames)


def load_video(path, num_frames=8):
    container = av.open(path)  # the leak
    total = container.streams.video[0].frames
    indices = np.linspace(0, total - 1, num_frames)
    return read_frames(container, indices)


class VideoModel:
    def __init__(self, model, processor, device):
        self.model = model.to(device).eval()
        self.processor = processor
        self.device = device

    @torch.inference_mode()
    def answer(self, question, video):
        inputs = self.processor(text=question, videos=[video], return_tensors="pt").to(self.device)
        ids = self.model.generate(**inputs, max_new_tokens=64)
        return self.processor.batch_decode(ids.cpu(), skip_special_tokens=True)[0]


def evaluate(model, documents):
    right = 0
    for document in documents:
        video = load_video(document["path"])
        right += model.answer(document["question"], video).strip() == document["answer"]
    return right / len(documents)
