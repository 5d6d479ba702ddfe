"""Names of tensors that are macros of the headers of a core, a board or a device."""

import re

import pytest

from support.compilers import require, run_compiler
from support.hostile_names import check_c
from support.interface_views import interface, tensor, workspace
from usmp.codegen.c.names import sanitise
from usmp.codegen.interface.entry_interface import IOTensor, member_names
from usmp.codegen.sources.header import print_header
from usmp.objects import TensorInfo

AVR_HEADERS = """avr/io avr/interrupt avr/pgmspace avr/sleep avr/wdt util/delay math stdlib stdio
    string""".split()

OBJECT_MACROS = """INPUT OUTPUT INPUT_PULLUP HIGH LOW PI F DEFAULT A0 A63 B1 B00000001 MIN MAX RESET
    CHANGE RISING FALLING DISPLAY SERIAL SERIAL_8N1 EXTERNAL INTERNAL LED_BUILTIN SS MOSI MISO SCK
    SDA SCL D0 D101 PA PA0 PB_5 PIN_A0 PIN_WIRE_SDA PC13 GPIO7 BIN DEC HEX OCT EULER PROGMEM
    Serial Serial1 SerialUSB NUM_ANALOG_INPUTS F_CPU SPI1 TIMER0A PORTB DDRB PINB3 XL YH SP SE
    OPEN_DRAIN PULLUP SPECIAL FUNCTION_1 DISABLED ONLOW ANALOG BIT0 BIT63 IRAM_ATTR
    CONFIG_FREERTOS_HZ pdTRUE portMAX_DELAY configTICK_RATE_HZ ADC DAC PORT RTC SERCOM0 USB TIM2
    GPIOA USART1 RCC SysTick SCB NVIC SCB_CPUID_REVISION_Msk NRF_GPIO TRUE FALSE i2c0 spi0 uart0
    R_GPT0 K_FOREVER K_NO_WAIT CONFIG_ARM MSEC_PER_SEC ALWAYS_INLINE EMPTY CHANNEL_1""".split()
"""Of Arduino's cores, ESP-IDF, FreeRTOS, CMSIS, device headers and Zephyr."""

FUNCTION_MACROS = """min max abs round sq bit constrain radians degrees lowByte highByte bitRead
    bitSet interrupts noInterrupts word digitalPinToPort likely unlikely CLAMP ARRAY_SIZE
    CONTAINER_OF ROUND_UP KB ISR""".split()
"""Macros with parameters."""


def test_macros_get_an_underscore():
    assert [sanitise(name) for name in OBJECT_MACROS] == [f"{name}_" for name in OBJECT_MACROS]


def test_macros_with_parameters_leave_members_alone():
    assert [sanitise(name) for name in FUNCTION_MACROS] == FUNCTION_MACROS


def test_other_names_are_those_of_the_model():
    names = """X Y A B INPUTS INPUT_0 OUTPUTS input output DATA STATE MASK P3 P10 B2 B012 a0 d1 T1
        SPIKES HIGHWAY LOWER Serialize PIE PINE_TREE port config pd_mean portrait LEDGER
        ADCS""".split()
    assert [sanitise(name) for name in names] == names


def test_numbers_at_ends_of_names_make_no_macro():
    infos = [TensorInfo(name, [size], "int8") for name, size in [("CHANNEL", 4), ("CHANNEL", 5)]]
    assert member_names({"": (infos[:1], infos[1:])}) == [["CHANNEL", "CHANNEL_1_"]]


@pytest.mark.cc
@pytest.mark.parametrize(("language", "standard"), [("c", "c99"), ("c++", "c++11")])
def test_headers_compile_behind_the_macros(language, standard):
    defines = [f"#define {name} (!)\n" for name in OBJECT_MACROS]
    defines += [f"#define {name}(x) (!x)\n" for name in FUNCTION_MACROS]
    texts = []
    for kind, names in {"a": set(OBJECT_MACROS) - {"Serial"}, "b": FUNCTION_MACROS}.items():
        tensors = [tensor(name, c_name=sanitise(name)) for name in sorted(names)]
        by_rows = [
            IOTensor(TensorInfo(name, [2, 2], "int8"), sanitise(name), None, is_by_rows=True)
            for name in sorted(names)
        ]
        pools = [workspace(name, c_name=sanitise(name)) for name in sorted(names)]
        texts += [
            print_header(interface(tensors, [], pools, f"inputs_{kind}")),
            print_header(interface([], tensors, name=f"outputs_{kind}")),
            print_header(interface(by_rows, [], name=f"rows_in_{kind}")),
            print_header(interface([], by_rows, name=f"rows_out_{kind}")),
        ]
        struct = f"struct tvmgen_inputs_{kind}_inputs* inputs"
        uses = "".join(f"  inputs->{sanitise(name)} = 0;\n" for name in sorted(names))
        texts.append(f"void use_{kind}({struct});\nvoid use_{kind}({struct}) {{\n{uses}}}\n")
    includes = "#include <stdint.h>\n#include <stddef.h>\n"
    check_c(includes + "".join(defines) + "".join(texts), language, standard)


@pytest.mark.board
@pytest.mark.parametrize("device", ["atmega328p", "atmega2560", "atmega32u4"])
def test_no_member_is_a_macro_of_an_arduino_with_an_avr(device):
    require("avr-gcc")
    done = run_compiler(
        ["avr-gcc", f"-mmcu={device}", "-Os", "-DF_CPU=16000000UL", "-dM", "-E", "-"],
        input="".join(f"#include <{header}.h>\n" for header in AVR_HEADERS),
    )
    defined = set(re.findall(r"^#define (\w+)(?: |$)", done.stdout, re.MULTILINE))
    assert {"PORTB", "PB0", "TCCR1A", "SREG", "XL", "sinf", "PROGMEM"} <= defined
    assert {name for name in defined if sanitise(name) in defined} == set()
