"""The cluster's controllers: what makes objects come true, one module each.

Start reading at `setup` (what they are made with) and `registry` (which there are).
"""
