#include "report.h"

#include "semihosting.h"

enum { LINE_BYTES = 48, LONGEST_NUMBER = 20 };

void report(int32_t file, const char* name, uint64_t value) {
  char line[LINE_BYTES];
  uint32_t length = 0;
  while (name[length] != 0 && length < LINE_BYTES - LONGEST_NUMBER - 3) {
    line[length] = name[length];
    ++length;
  }
  line[length++] = ' ';
  uint32_t digits = 1;
  for (uint64_t rest = value / 10; rest != 0; rest /= 10) {
    ++digits;
  }
  length += digits;
  for (uint32_t digit = 1; digit <= digits; ++digit) {
    line[length - digit] = (char)('0' + value % 10);
    value /= 10;
  }
  line[length++] = '\n';
  line[length] = 0;
  semihosting_print(line);
  semihosting_write(file, line, length);
}
