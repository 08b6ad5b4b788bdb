# Settings of the allocator.
import os

import torch

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:True"  # LT504 hint
os.environ.setdefault("PYTORCH_ALLOC_CONF", "max_split_size_mb:128,expandable_segments:True")  # LT504 hint
os.putenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")  # LT504 hint


def start(limit):
    torch.cuda.memory._set_allocator_settings("expandable_segments:True")  # LT504 hint
    os.environ.update({"PYTORCH_CUDA_ALLOC_CONF": f"garbage_collection_threshold:{limit},expandable_segments:True"})  # LT504 hint


# Harmless.

os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "expandable_segments:False"
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"
print("set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation")
HINT = "expandable_segments:True"
os.environ.setdefault("PYTORCH_CUDA_ALLOC_CONF", "max_split_size_mb:64")
torch.cuda.memory._set_allocator_settings("max_split_size_mb:64")
settings = {"note": "expandable_segments:True"}


def begin(command):
    surroundings = {**os.environ, "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}  # LT504 hint
    command(env=dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True"))  # LT504 hint
    command(env={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "NOTE": "expandable_segments:True"})
    return surroundings
