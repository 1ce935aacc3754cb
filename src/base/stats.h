/* Statistics of a few samples: median and spread.  */
#ifndef ROLLER_BASE_STATS_H
#define ROLLER_BASE_STATS_H

void stats_sort(double *v, int n);                         /* ascending */
/* Of samples in ascending order; 0 for none.  */
double stats_median(const double *sorted, int n);
double stats_spread(const double *sorted, int n);          /* interquartile range over median */
#endif
