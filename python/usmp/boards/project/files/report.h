/* Print a line with a name and a number, and append it to a file. */
#ifndef REPORT_H_
#define REPORT_H_

#include <stdint.h>

void report(int32_t file, const char* name, uint64_t value);

#endif
