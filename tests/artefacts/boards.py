"""Boards of one name whose GPCs have other SMs, and plans whose blocks stay for several tiles.

boards.py PROFILE.json writes BOARD.json for each board and PLAN.te, PLAN.plan for each plan;
boards.py held BOARD PLAN prints how many blocks of its kernel the board holds.
"""
import json
import sys

BOARDS = {                                     # SMs of each GPC
    "uneven": [14] + [16] * 4 + [18] * 3,
    "few": [10] * 7 + [8],
}
TILES = 1024 // 64 * (256 // 8)
PLANS = {                                      # blocks of a cluster, of an SM; how they stay; tail
    "alone": (1, 3, "persistent", 0),
    "pairs": (2, 3, "persistent", 0),
    "fours": (4, 3, "persistent", 0),
    "eights": (8, 3, "persistent", 0),
    "turns": (4, 2, "pingpong", 0),
    "shares": (1, 3, "persistent", 300),
}
OP = """param M = 1024, N = 256, K = 32;
op %s(A: f32[M,K], B: f32[N,K]) -> C: f32[M,N] { C[m,n] += A[m,k] * B[n,k] @tf32; }
"""
PLAN = """roller-plan 1
kernel 0
  skeleton contract
  unit wgmma.tf32.f32
  block 1 64 8 32
  warp 1 64 8 32
  thread 1 64 8 8
  vec 1 2
  unroll 32
  stages 8
  a tile tma.tile vec 4 along k inner k swizzle 3 0 0
  b tile tma.tile vec 4 along k inner k swizzle 3 0 0
  store 2 boxes
  raster row%s %s
  split 1%s
  blocks_per_sm %d
"""


def clusters(gpcs, size):
    """A cluster lies in one GPC."""
    return sum(n // size for n in gpcs)


def held(board, plan):
    size, per_sm, _, tail = PLANS[plan]
    return min(max(TILES - tail, tail), per_sm * size * clusters(BOARDS[board], size))


def write(path):
    profile = json.load(open(path))
    for name, gpcs in BOARDS.items():
        limits = profile["limits"]
        limits["sm_count"]["value"] = sum(gpcs)
        limits["clusters_resident"]["points"] = [[n, clusters(gpcs, n)] for n in (1, 2, 4, 8)]
        json.dump(dict(profile, name=name), open(name + ".json", "w"))
    for name, (size, per_sm, stays, tail) in PLANS.items():
        cluster = f" cluster {size}" if size > 1 else ""
        split = f" tail {tail} blocks {tail}" if tail else ""
        open(name + ".te", "w").write(OP % name)
        open(name + ".plan", "w").write(PLAN % (cluster, stays, split, per_sm))


if sys.argv[1] == "held":
    print(held(sys.argv[2], sys.argv[3]))
else:
    write(sys.argv[1])
