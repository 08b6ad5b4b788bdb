"""What looking inside may cost. Its price is not known beforehand: mallinfo walks all free chunks of the heap, which are
millions where it is full of holes, and a count of objects visits each.

What is spent comes in bursts: once the budget is used up it waits until it has enough for several looks, so that what lies
between two neighbouring marks is known every time that something is known at all."""

#: The share of the time that may be spent.
SHARE = 0.005
#: What may be spent at once, at the beginning and later, seconds; and for how many looks it has to suffice.
ROOM_S = 0.05
LOOKS = 8


class Budget:
    """Says yes as long as there is something left. Times and costs in seconds."""

    def __init__(self, now):
        self.left, self.at, self.open, self.most = ROOM_S, now, True, 0.0

    def allows(self, now):
        room = max(ROOM_S, LOOKS * self.most)
        self.left = min(room, self.left + (now - self.at) * SHARE)
        self.at = now
        self.open = self.left > self.most if self.open else self.left >= room
        return self.open

    def spent(self, cost):
        self.left -= cost
        self.most = max(cost, 0.9 * self.most)

    def rest(self, seconds):
        """Says no for at least so long."""
        self.left, self.open = -seconds * SHARE, False
