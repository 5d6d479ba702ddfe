"""Identifiers that are reserved in C: keywords, and macros of common headers.

Struct members in the generated header must avoid them, because an application may include any other
header first.
"""

from __future__ import annotations

import re

_KEYWORDS = """auto break case char const continue default do double else enum extern float for goto
    if inline int long register restrict return short signed sizeof static struct switch typedef
    union unsigned void volatile while _Bool _Complex _Imaginary asm bool true false class new
    delete this template typename namespace operator private protected public virtual friend
    _Alignas _Alignof _Atomic _BitInt _Decimal128 _Decimal32 _Decimal64 _Generic _Noreturn _Pragma
    _Static_assert _Thread_local _Float16 _Float32 _Float32x _Float64 _Float64x _Float128 _Accum
    _Fract _Sat alignas alignof and and_eq bitand bitor catch char16_t char32_t char8_t co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype dynamic_cast
    explicit export mutable not not_eq nullptr or or_eq reinterpret_cast requires static_assert
    static_cast thread_local throw try typeid typeof typeof_unqual using wchar_t xor xor_eq"""
"""Keywords of C up to C23 and C++ up to C++20."""

_INCLUDED = """int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t NULL INFINITY NAN
    MAXFLOAT DOMAIN SING OVERFLOW UNDERFLOW PLOSS TLOSS X_TLOSS signgam memcpy memmove memset linux
    unix i386"""
"""Names from headers that the generated code includes, and macros of compilers in GNU modes."""

_STANDARD = """BUFSIZ CHAR_BIT CLK_TCK CLOCKS_PER_SEC DECIMAL_DIG EOF EXIT_FAILURE EXIT_SUCCESS
    FILENAME_MAX FOPEN_MAX I L_tmpnam MB_CUR_MAX MB_LEN_MAX NSIG ONCE_FLAG_INIT RAND_MAX SEEK_CUR
    SEEK_END SEEK_SET TIME_UTC TMP_MAX TSS_DTOR_ITERATIONS WEOF atomic_init complex imaginary errno
    math_errhandling noreturn stderr stdin stdout HAVE_INITFINI_ARRAY TIMER_ABSTIME
    _Complex_I _Imaginary_I _Nonnull _Nullable _Null_unspecified _Kmax _Mdouble_complex_"""
"""Macros of other headers of the C standard library."""

_POSIX = """FD_SETSIZE L_ctermid PATH_MAX P_tmpdir SA_NOCLDSTOP basename d_fileno fd_set h_addr
    h_errno no_argument optional_argument physadr quad required_argument s6_addr s6_addr16
    s6_addr32 sa_handler sa_sigaction sched_priority si_addr si_addr_lsb si_arch si_band
    si_call_addr si_fd si_int si_lower si_overrun si_pid si_pkey si_ptr si_status si_stime
    si_syscall si_timerid si_uid si_upper si_utime si_value sigev_notify_attributes
    sigev_notify_function st_atime st_ctime st_mtime strtodf tzname CLOCK_ALLOWED CLOCK_DISABLED
    CLOCK_DISALLOWED CLOCK_ENABLED CLOCK_MONOTONIC CLOCK_REALTIME SSIZE_MAX ARG_MAX ATEXIT_MAX
    BC_BASE_MAX BC_DIM_MAX BC_SCALE_MAX BC_STRING_MAX CHILD_MAX COLL_WEIGHTS_MAX EXPR_NEST_MAX
    FALLTHROUGH FAST_STRCMP IOV_MAX LINE_MAX LINK_MAX MAX_CANON MAX_INPUT NAME_MAX NGROUPS_MAX
    NL_ARGMAX OPEN_MAX PIPE_BUF POSIX_IO PREFER_SIZE_OVER_SPEED RE_DUP_MAX TINY_STDIO"""
"""Macros of POSIX, glibc, newlib and picolibc that a tensor could have as its name."""

_ERRORS = """2BIG ACCES ADDRINUSE ADDRNOTAVAIL ADV AFNOSUPPORT AGAIN ALREADY BADE BADF BADFD
    BADMSG BADR BADRQC BADSLT BFONT BUSY CANCELED CHILD CHRNG COMM CONNABORTED CONNREFUSED
    CONNRESET DEADLK DEADLOCK DESTADDRREQ DOM DOTDOT DQUOT EXIST FAULT FBIG FTYPE HOSTDOWN
    HOSTUNREACH HWPOISON IDRM ILSEQ INPROGRESS INTR INVAL IO ISCONN ISDIR ISNAM KEYEXPIRED
    KEYREJECTED KEYREVOKED L2HLT L2NSYNC L3HLT L3RST LIBACC LIBBAD LIBEXEC LIBMAX LIBSCN LNRNG
    LOOP MEDIUMTYPE MFILE MLINK MSGSIZE MULTIHOP NAMETOOLONG NAVAIL NETDOWN NETRESET NETUNREACH
    NFILE NOANO NOBUFS NOCSI NODATA NODEV NOENT NOEXEC NOKEY NOLCK NOLINK NOMEDIUM NOMEM NOMSG
    NONET NOPKG NOPROTOOPT NOSPC NOSR NOSTR NOSYS NOTBLK NOTCONN NOTDIR NOTEMPTY NOTNAM
    NOTRECOVERABLE NOTSOCK NOTSUP NOTTY NOTUNIQ NXIO OPNOTSUPP OVERFLOW OWNERDEAD PERM
    PFNOSUPPORT PIPE PROTO PROTONOSUPPORT PROTOTYPE RANGE REMCHG REMOTE REMOTEIO RESTART RFKILL
    ROFS SHUTDOWN SOCKTNOSUPPORT SPIPE SRCH SRMNT STALE STRPIPE TIME TIMEDOUT TOOMANYREFS TXTBSY
    UCLEAN UNATCH USERS WOULDBLOCK XDEV XFULL"""
_SIGNALS = """ABRT ALRM BUS CHLD CLD CONT EMT FPE HUP ILL INT IO IOT KILL LOST PIPE POLL PROF
    PWR QUIT RTMAX RTMIN SEGV STKFLT STOP SYS TERM TRAP TSTP TTIN TTOU URG USR1 USR2 VTALRM
    WINCH XCPU XFSZ"""

_KEYWORD_SET = frozenset(_KEYWORDS.split())
_RESERVED = frozenset(
    [
        *f"{_KEYWORDS} {_INCLUDED} {_STANDARD} {_POSIX}".split(),
        *(f"E{name}" for name in _ERRORS.split()),
        *(f"SIG{name}" for name in _SIGNALS.split()),
    ]
)
_PATTERN = re.compile(
    # <stdint.h>, <inttypes.h>, <limits.h>
    r"U?INT(\d|_LEAST|_FAST|MAX|PTR)\w*|(SIZE|PTRDIFF|WCHAR|WINT|SIG_ATOMIC)_(MIN|MAX|WIDTH)"
    r"|(PRI|SCN)[dioxuX](\d|LEAST|FAST|MAX|PTR)\w*"
    r"|(BOOL|[SU]?CHAR|U?SHRT|U?INT|U?LONG|U?LLONG|U?LONG_LONG)_(MIN|MAX|WIDTH)"
    # <math.h>, <float.h>, <fenv.h>, <locale.h>, <signal.h>, <stdatomic.h>
    r"|(M|FP|FE|LC|SIG|MATH|FLT|DBL|LDBL|FCLASS|ATOMIC)_\w+|HUGE(_VAL[FL]?)?|atomic_\w+_explicit"
    # Macros that newlib and picolibc define in each of their headers.
    r"|EXT_(EXP|FRAC)\w+|(NEWLIB|PICOLIBC)_\w+"
    # Macros that the builds of Arduino, ESP-IDF and Zephyr define.
    r"|ARDUINO(_\w+)?|ESP(32|8266|_PLATFORM|_IDF_VERSION)|F_CPU|CONFIG_\w+"
    # Definitions in the generated code.
    r"|(TVMGEN|USMP_ARENA)_\w+|(u?int\d+|float|double)_alias|tvmgen_(min|max)_[a-z]+\d*"
    r"|tvmgen_\w+_from_bits_of_\w+|tvmgen_b?float\d+_of_b?float\d+"
)
_OF_COMPILERS = re.compile(
    r"__[A-Za-z][A-Za-z0-9]\w*|__[A-Z]|_[A-Z][A-Z0-9_]*|_{2,5}[A-Za-z]\w*_(defined|h)"
)
"""Names that C reserves for compilers: `__FILE__`, `__const`, `_GNU_SOURCE`, `_X`."""


def is_keyword(identifier: str) -> bool:
    """Return whether the identifier is a keyword of C or C++."""
    return identifier in _KEYWORD_SET


def not_reserved(identifier: str) -> str:
    """Return the C identifier, changed if it is a keyword or may be a macro.

    The changed identifier gets an underscore at its end. A name that C reserves for compilers gets
    an `x` in front instead, because with an underscore it could be another reserved name.
    """
    if identifier in _RESERVED or _PATTERN.fullmatch(identifier):
        return f"{identifier}_"
    return f"x{identifier}" if _OF_COMPILERS.fullmatch(identifier) else identifier
