"""What `lowtide run` puts into a Python process: marks of steps, epochs and phases. No dependencies, Python 3.8 and newer.

`ring` is where marks go, `marks` what is said and when, `facts` what is measured beside it and `budget` what that may cost,
`hooks` and `frameworks` where it is learned, `training`, `loaders` and `steps` what follows from it, `api` what the package
`lowtide` calls, `history` who asked for GPU memory. No thread, nothing that can block; any failure turns all of it off and leaves the run alone.
"""
