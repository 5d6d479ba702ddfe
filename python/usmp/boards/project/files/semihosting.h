/* Files, text and exit of the computer that debugs or emulates the board.
 *
 * Source: Arm, "Semihosting for AArch32 and AArch64"; RISC-V uses the same calls. */
#ifndef SEMIHOSTING_H_
#define SEMIHOSTING_H_

#include <stdint.h>

enum { SEMIHOSTING_READ = 1, SEMIHOSTING_WRITE = 5 };

/* Open a binary file; returns -1 if that is not possible. */
int32_t semihosting_open(const char* name, int32_t mode);

/* Read or write bytes; returns the number of bytes read or written. */
uint32_t semihosting_read(int32_t file, void* memory, uint32_t size);
uint32_t semihosting_write(int32_t file, const void* memory, uint32_t size);

/* Go to a byte of a file; return the bytes of a file. */
void semihosting_seek(int32_t file, uint32_t position);
uint32_t semihosting_length(int32_t file);

void semihosting_close(int32_t file);

/* Print a text, for instance to a terminal. */
void semihosting_print(const char* text);

/* End the program. */
void semihosting_exit(int32_t status) __attribute__((noreturn));

#endif
