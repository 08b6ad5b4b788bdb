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

    def __init__(self, now, share=SHARE, room_s=ROOM_S, looks=LOOKS):
        self.share, self.room_s, self.looks = share, room_s, looks
        self.left, self.at, self.open, self.most = room_s, now, True, 0.0

    def allows(self, now):
        room = max(self.room_s, self.looks * self.most)
        self.left = min(room, self.left + (now - self.at) * self.share)
        self.at = now
        self.open = self.left > self.most if self.open else self.left >= room
        return self.open

    def spent(self, cost):
        self.left -= cost
        self.most = max(cost, 0.9 * self.most)

    def rest(self, seconds):
        """Says no for at least so long."""
        self.left, self.open = -seconds * self.share, False
