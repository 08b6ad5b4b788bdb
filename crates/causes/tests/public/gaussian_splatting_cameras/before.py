import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image


@dataclass
class CameraInfo:
    uid: int
    R: np.ndarray
    T: np.ndarray
    image: Image.Image
    image_name: str


def read_cameras(folder, transforms_file):
    contents = json.loads((Path(folder) / transforms_file).read_text())
    cam_infos = []
    for index, frame in enumerate(contents["frames"]):
        c2w = np.array(frame["transform_matrix"])
        c2w[:3, 1:3] *= -1
        w2c = np.linalg.inv(c2w)
        image_path = Path(folder) / (frame["file_path"] + ".png")
        image = Image.open(image_path)  # the leak
        cam_infos.append(  # the leak
            CameraInfo(uid=index, R=w2c[:3, :3].T, T=w2c[:3, 3], image=image, image_name=image_path.stem)
        )
    return cam_infos


class Scene:
    def __init__(self, folder, scales=(1.0, 0.5)):
        train = read_cameras(folder, "transforms_train.json")
        self.cameras = {scale: [self.load(info, scale) for info in train] for scale in scales}

    @staticmethod
    def load(info, scale):
        size = (int(info.image.width * scale), int(info.image.height * scale))
        pixels = np.asarray(info.image.resize(size), dtype=np.float32) / 255
        return {"uid": info.uid, "R": info.R, "T": info.T, "pixels": pixels}
