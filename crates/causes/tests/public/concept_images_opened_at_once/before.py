import glob

import numpy as np
import torch
from PIL import Image
from sentence_transformers import SentenceTransformer
from sklearn.cluster import KMeans
from tqdm import tqdm


def embed(model, names, batch_size=128):
    embeddings = []
    for start in tqdm(range(0, len(names), batch_size)):
        part = names[start : start + batch_size]
        batch = images[start : start + batch_size]
        embeddings.append(model.encode(batch, batch_size=len(part)))
    return np.vstack(embeddings)


names = sorted(glob.glob("photos/*.jpg"))[:5000]
images = [Image.open(name) for name in tqdm(names)]  # the leak
model = SentenceTransformer("clip-ViT-B-32", device="cuda" if torch.cuda.is_available() else "cpu")
vectors = embed(model, names)
topics = KMeans(n_clusters=60, n_init=4).fit_predict(vectors)
for topic in range(60):
    members = [name for name, own in zip(names, topics) if own == topic]
    print(topic, len(members), members[:3])
np.save("vectors.npy", vectors)
