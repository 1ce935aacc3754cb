/* Graphs as objects, and their nodes; private to src/simdriver.
 *
 * A graph and the executable forms made of it share a body until one of them changes.  A node is
 * known by its place in the body, which is the same in all of them.  */
#ifndef ROLLER_SIMDRIVER_GRAPH_H
#define ROLLER_SIMDRIVER_GRAPH_H
#include "simdriver/work.h"

typedef struct NodeObject NodeObject;
/* A graph or its executable form.  */
typedef struct GraphObject {
    Object o;
    GraphBody *body;
    bool captured;            /* a capture adds to it: it cannot be destroyed */
    NodeObject **node;        /* handles of nodes, as far as they were asked for; `room` of them */
    size_t room;
} GraphObject;
struct NodeObject {
    Object o;
    GraphObject *graph;
    size_t index;
};

/* A new graph without nodes; NULL without memory.  */
GraphObject *graph_new(Driver *d);
/* An object of a body, which it shares; NULL without memory.  */
GraphObject *graph_wrap(Driver *d, GraphBody *body, Kind kind);
/* The object's body for itself alone; NULL without memory.  */
GraphBody *graph_own(GraphObject *g);
/* Finds an order in which every node comes after what it needs: CUDA_ERROR_INVALID_VALUE if there
 * is none.  */
CUresult graph_sort(GraphBody *g);
void graph_unsort(GraphBody *g);
/* Notes references that the graph has from now on; false without memory.  */
bool graph_retain(GraphBody *g, UserObject *u, uint64_t n);
/* The handle of a node; NULL without memory.  */
NodeObject *graph_node(Driver *d, GraphObject *g, size_t index);
/* Ends an object and the handles of its nodes.  */
void graph_free(Driver *d, GraphObject *g);
#endif
