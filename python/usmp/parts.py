"""Common microcontrollers and boards, by name: core, RAM and flash.

`tvmc check` reports whether a model fits them; there is no project that builds a program for one.
Nothing here loads TVM.

RAM is the largest range of consecutive addresses, because a memory pool needs one range; other
banks are not counted. Flash is the most that an application may use. Each part names the source of
its figures: devicetree files (`dts/`) and board files (`boards/`) of Zephyr, and
`boards.txt` of Arduino's cores.
"""

from __future__ import annotations

from dataclasses import dataclass

_K = 1 << 10
_M = 1 << 20


@dataclass(frozen=True)
class Part:
    """A microcontroller, or a board with one.

    Parameters
    ----------
    description
        one line of help.
    core
        value of `-mcpu` of GCC, or of `-march` for RISC-V; "xtensa-lx7" has no compiler here.
    ram_bytes, flash_bytes
        memory for a program, in bytes.
    source
        the file with these figures.
    """

    description: str
    core: str
    ram_bytes: int
    flash_bytes: int
    source: str


def _zephyr(path: str) -> str:
    return f"Zephyr, {path}"


def _st(name: str, core: str, ram: int, flash: int, path: str) -> Part:
    return Part(f"ST {name}", core, ram, flash, _zephyr(f"dts/arm/st/{path}"))


def _nordic(name: str, core: str, ram: int, flash: int, path: str) -> Part:
    return Part(f"Nordic {name}", core, ram, flash, _zephyr(f"dts/arm/nordic/{path}"))


PARTS = {
    "arduino-nano-33-ble": Part(
        "Arduino Nano 33 BLE and BLE Sense (nRF52840), beside its bootloader",
        "cortex-m4",
        256 * _K,
        960 * _K,
        "Arduino, ArduinoCore-mbed boards.txt",
    ),
    "arduino-zero": Part(
        "Arduino Zero (SAMD21G18)",
        "cortex-m0plus",
        32 * _K,
        256 * _K,
        _zephyr("boards/arduino/zero/arduino_zero.yaml"),
    ),
    "esp32-c3": Part(
        "Espressif ESP32-C3 with 4 MiB of flash; RAM for data",
        "rv32imc",
        320 * _K,
        4 * _M,
        _zephyr("dts/riscv/espressif/esp32c3/esp32c3_common.dtsi"),
    ),
    "esp32-s3": Part(
        "Espressif ESP32-S3 with 4 MiB of flash; its SRAM1, for data",
        "xtensa-lx7",
        416 * _K,
        4 * _M,
        _zephyr("dts/xtensa/espressif/esp32s3/esp32s3_common.dtsi"),
    ),
    "kl25z": Part(
        "NXP KL25Z",
        "cortex-m0plus",
        16 * _K,
        128 * _K,
        _zephyr("dts/arm/nxp/nxp_kl25z.dtsi"),
    ),
    "lpc55s69": Part(
        "NXP LPC55S69; SRAM0 to SRAM4",
        "cortex-m33",
        272 * _K,
        630 * _K,
        _zephyr("dts/arm/nxp/nxp_lpc55S6x_common.dtsi"),
    ),
    "nrf51822": _nordic("nRF51822 (QFAA)", "cortex-m0", 16 * _K, 256 * _K, "nrf51822_qfaa.dtsi"),
    "nrf52832": _nordic("nRF52832 (QFAA)", "cortex-m4", 64 * _K, 512 * _K, "nrf52832_qfaa.dtsi"),
    "nrf52840": _nordic("nRF52840", "cortex-m4", 256 * _K, 1 * _M, "nrf52840_qiaa.dtsi"),
    "nrf5340": _nordic(
        "nRF5340, its application core", "cortex-m33", 512 * _K, 1 * _M, "nrf5340_cpuapp_qkaa.dtsi"
    ),
    "raspberry-pi-pico": Part(
        "Raspberry Pi Pico (RP2040) with 2 MiB of flash",
        "cortex-m0plus",
        264 * _K,
        2 * _M,
        _zephyr("boards/raspberrypi/rpi_pico/rpi_pico.yaml"),
    ),
    "raspberry-pi-pico-2": Part(
        "Raspberry Pi Pico 2 (RP2350, its Cortex-M33) with 4 MiB of flash",
        "cortex-m33",
        520 * _K,
        4 * _M,
        _zephyr("boards/raspberrypi/rpi_pico2/rpi_pico2_rp2350a_m33.yaml"),
    ),
    "samd21g18": Part(
        "Microchip SAMD21G18",
        "cortex-m0plus",
        32 * _K,
        256 * _K,
        _zephyr("dts/arm/atmel/samd2x.dtsi"),
    ),
    "samd51j19": Part(
        "Microchip SAMD51 with 512 KiB of flash (J19 and others)",
        "cortex-m4",
        192 * _K,
        512 * _K,
        _zephyr("dts/arm/atmel/samd5xx19.dtsi"),
    ),
    "stm32f072rb": _st("STM32F072xB", "cortex-m0", 16 * _K, 128 * _K, "f0/stm32f072Xb.dtsi"),
    "stm32f103rb": _st("STM32F103xB", "cortex-m3", 20 * _K, 128 * _K, "f1/stm32f103Xb.dtsi"),
    "stm32f411re": _st("STM32F411xE", "cortex-m4", 128 * _K, 512 * _K, "f4/stm32f411Xe.dtsi"),
    "stm32f446re": _st("STM32F446xE", "cortex-m4", 128 * _K, 512 * _K, "f4/stm32f446Xe.dtsi"),
    "stm32f746ng": _st("STM32F746xG", "cortex-m7", 320 * _K, 1 * _M, "f7/stm32f746Xg.dtsi"),
    "stm32g071rb": _st("STM32G071xB", "cortex-m0plus", 36 * _K, 128 * _K, "g0/stm32g071Xb.dtsi"),
    "stm32h743zi": _st(
        "STM32H743xI; its AXI SRAM, beside 352 KiB in other banks and 128 KiB of DTCM",
        "cortex-m7",
        512 * _K,
        2 * _M,
        "h7/stm32h743.dtsi and stm32h743Xi.dtsi",
    ),
    "stm32l072cz": _st("STM32L072xZ", "cortex-m0plus", 20 * _K, 192 * _K, "l0/stm32l072Xz.dtsi"),
    "stm32l432kc": _st("STM32L432xC", "cortex-m4", 64 * _K, 256 * _K, "l4/stm32l432Xc.dtsi"),
    "stm32l4r5zi": _st(
        "STM32L4R5xI",
        "cortex-m4",
        640 * _K,
        2 * _M,
        "l4/stm32l4r5.dtsi and stm32l4r5Xi.dtsi",
    ),
    "stm32u585ai": _st(
        "STM32U585xI; SRAM1 to SRAM3", "cortex-m33", 768 * _K, 2 * _M, "u5/stm32u585Xi.dtsi"
    ),
}
"""Parts by name, sorted by name."""
