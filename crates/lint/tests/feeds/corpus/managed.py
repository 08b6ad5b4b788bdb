#? board: module:multiprocessing.process _current_process ._manager_server .id_to_obj [] [] = dict
#? own: frame:train.py:main seen = dict
import multiprocessing as mp


def log(board, step, out):
    board[step] = out  # <- board


def main():
    with mp.Manager() as manager:
        board = manager.dict()
        seen = dict()
        for step in range(1000):
            log(board, step, "x")
            seen[step] = 1  # <- own


main()
