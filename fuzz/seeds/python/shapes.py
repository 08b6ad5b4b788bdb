x = ""
# coding: latin-1
match x:
    case [a, *b] if (n := 1):
        f"{x!r:>{n}} {f'{n}'}"
