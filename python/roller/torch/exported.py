"""Programs of torch.export as graphs for a partition."""
from .attention import unify
from .decompositions import table
from .lower import name_of
from .partition import Partition
from .sizes import Sizes, Symbols


def taken_apart(program):
    """The program by the backend's operators; the one that is given stays as it is."""
    program = program.run_decompositions({})            # a copy, whose attention is whole
    drop_checks(program.graph)
    unify(program.graph_module)
    return program.run_decompositions(table())


def drop_checks(graph):
    """Where a tensor is, and its type, is in what a program takes, which checks it."""
    for node in list(graph.nodes):
        if name_of(node) == "_assert_tensor_metadata":
            graph.erase_node(node)


def partition_of(program, options):
    """The partition, and where its symbols are read."""
    symbols = Symbols(program.graph)
    symbols.ranges.update((s, r) for s, r in program.range_constraints.items()
                          if s in symbols.ranges)        # 1 too, which tracing leaves out
    return Partition(program.graph_module, options, Sizes(symbols, tuple(symbols.hints))), symbols
