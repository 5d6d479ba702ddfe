/* Print lines of a name and a number, also to report.txt. */
#ifndef REPORT_H_
#define REPORT_H_

#include <stdint.h>

void report(int32_t file, const char* name, uint64_t value);

#endif
