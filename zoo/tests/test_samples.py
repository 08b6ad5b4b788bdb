"""Cutting, thinning and blanking keep what they should."""

import io

from samples import blanked, first_part, parse_csv, thinned, write_csv

HEADER = "t,pid,ppid,depth,cmd,rss,pss,uss,anon,pss_anon,pss_file,pss_shmem,rss_file,rss_shmem,fds,threads,minflt\n"


def trace(n=50, interval=0.2):
    out = io.StringIO()
    out.write(HEADER)
    for i in range(n):
        t = f"{100 + i * interval:.3f}"
        out.write(f"{t},7,1,0,python3 train.py,{i},0,0,{i},0,0,0,0,0,3,1,0\n{t},8,7,1,sh,1,0,0,1,0,0,0,0,0,3,1,0\n")
        out.write(f"{t},0,0,0,machine,9,0,5,0,0,0,0,0,0,0,0,0\n")
    return out.getvalue()


def test_written_as_read():
    assert write_csv(parse_csv(trace())) == trace()


def test_half_is_half_of_the_time():
    ticks = parse_csv(trace())
    half = first_part(ticks, 0.5)
    assert (len(half), half[-1].t) == (25, 104.8)
    assert len(first_part(ticks, 1.0)) == len(ticks)


def test_thinned_to_a_second():
    ticks = thinned(parse_csv(trace()), 1.0)
    assert [round(b.t - a.t, 3) for a, b in zip(ticks, ticks[1:])] == [1.0] * 9


def test_blanked_commands_say_nothing_and_numbers_stay():
    ticks = blanked(parse_csv(trace()))
    assert {row["cmd"] for tick in ticks for row in tick.rows.values()} == {"-"}
    assert ticks[3].rows[7]["anon"] == 3
