import gc
import queue
import traceback

import torch


class DiffusionWorker:
    """Runs the steps of a diffusion model for requests of a queue."""

    def __init__(self, pipeline, requests, answers):
        self.pipeline = pipeline
        self.requests = requests
        self.answers = answers
        self.failed = 0
        self.last_error = None

    def execute(self, request):
        latents = torch.randn(request["shape"], device="cuda")
        with torch.inference_mode():
            for step in range(request["steps"]):
                latents = self.pipeline(latents, request["prompt"], step)
        return latents.cpu()

    def busy_loop(self):
        while True:
            try:
                request = self.requests.get(timeout=5)
            except queue.Empty:
                continue
            if request is None:
                break
            try:
                self.answers.put((request["id"], self.execute(request)))
            except Exception as error:
                self.last_error = "".join(traceback.format_exception_only(type(error), error))
                error.__traceback__ = None
                self.failed += 1
                self.answers.put((request["id"], None))
            gc.collect()
            torch.cuda.empty_cache()
        self.report()

    def report(self):
        print(f"{self.failed} failed, the last with {self.last_error}")


def serve(pipeline):
    requests, answers = queue.Queue(), queue.Queue()
    worker = DiffusionWorker(pipeline, requests, answers)
    worker.busy_loop()
