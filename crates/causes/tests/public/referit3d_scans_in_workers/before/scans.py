import pickle


class Scan:
    def __init__(self, scan_id, points, objects):
        self.scan_id = scan_id
        self.points = points
        self.objects = objects


def unpickle(path):
    """The rooms of the data set by their names, each with its points and its objects."""
    with open(path, "rb") as file:
        return {scan.scan_id: scan for scan in pickle.load(file)}
