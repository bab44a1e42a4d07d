"""Runs a program for wasm32-wasip1 with its arguments, by the package wasmtime: python3 wasi.py PROGRAM ARGUMENTS"""

import sys

from wasmtime import Engine, ExitTrap, Linker, Module, Store, WasiConfig

wasi = WasiConfig()
wasi.argv = sys.argv[1:]
wasi.inherit_stdout()
wasi.inherit_stderr()
wasi.inherit_env()
engine = Engine()
store = Store(engine)
store.set_wasi(wasi)
linker = Linker(engine)
linker.define_wasi()
program = linker.instantiate(store, Module.from_file(engine, sys.argv[1]))
try:
    program.exports(store)["_start"](store)
except ExitTrap as end:
    sys.exit(end.code)
