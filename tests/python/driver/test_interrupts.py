"""Ctrl-C ends a command as shells expect, whoever catches it first."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from usmp.driver import plan
from usmp.driver.interrupts import noticed_interrupts


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_interrupt(tvmc, digits_model, monkeypatch):
    monkeypatch.setattr(plan, "build_model", lambda options, stage: interrupt())
    outcome = tvmc("plan", digits_model)
    assert (outcome.status, outcome.stdout, outcome.stderr) == (130, "", "tvmc: interrupted\n")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_interrupt_that_a_library_swallows(tvmc, digits_model, monkeypatch):
    def build_model(options, stage):
        try:
            interrupt()
        except BaseException:
            raise RuntimeError("half-made") from None

    monkeypatch.setattr(plan, "build_model", build_model)
    outcome = tvmc("plan", digits_model)
    assert (outcome.status, outcome.stderr) == (130, "tvmc: interrupted\n")


def test_error_without_an_interrupt(tvmc, digits_model, monkeypatch):
    def build_model(options, stage):
        raise RuntimeError("broken")

    monkeypatch.setattr(plan, "build_model", build_model)
    assert tvmc("plan", digits_model).stderr == "tvmc: error: broken\n"


def test_handler_of_somebody_else_stays():
    mine = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with noticed_interrupts() as interrupted:
            interrupt()
            assert not interrupted()
            assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, mine)


def test_thread_leaves_signals_alone():
    noticed = []

    def work():
        with noticed_interrupts() as interrupted:
            noticed.append(interrupted())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert noticed == [False]


def test_interrupt_is_noticed_and_raised():
    with noticed_interrupts() as interrupted:
        assert not interrupted()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
        assert interrupted()
