# Short names for the usual steps; CMakePresets.json holds the settings. On a Debian 12 with only make
# and git, `make demo` and `make test` install, build and run everything.
JOBS ?= $(shell nproc)
# Two more: some tests wait for servers and browsers most of their time.
TEST_JOBS ?= $(shell expr $(JOBS) + 2)
PREFIX ?= /usr/local
PORT ?= 8080
SOAK_STREAMS ?= 250
TIDY_FOLDERS := (encoder|frontend|platform|runtime|tools)

.DEFAULT_GOAL := build
.PHONY: help build demo serve test bench soak asan tsan asan-build tsan-build arm64 windows wasm \
	format format-check headers tidy \
	install wheel package image minimal clean

help:
	@echo 'make demo          install packages, build, decode the sample recordings with the shipped model'
	@echo 'make serve         install packages, build, run the server with the shipped model on PORT ($(PORT))'
	@echo 'make test          install packages, build, run every test (C++ and Python)'
	@echo 'make build         install packages, build the library and the tools into build/ (the default); programs are'
	@echo '                   in build/bin'
	@echo 'make bench         install packages, build, measure; writes docs/benchmarks.md, in some 40 minutes'
	@echo 'make soak          install packages, build, load a server with SOAK_STREAMS ($(SOAK_STREAMS)) streams, kill'
	@echo '                   one, and so on; writes docs/soak.md, in an hour'
	@echo 'make asan          install packages, build with clang and test with the address and undefined'
	@echo '                   sanitizers; the fuzzers too, for some minutes'
	@echo 'make tsan          the same with the thread sanitizer (only where threads share something)'
	@echo 'make arm64         install packages, build decode_wav and tests for arm64, run the tests under qemu'
	@echo 'make windows       install packages, build decode_wav.exe for 64-bit Windows, test it under wine'
	@echo 'make wasm          install packages, build the engine and its page for web browsers (build/wasm/live), test it'
	@echo '                   in Node.js and Chromium against decode_wav of build/'
	@echo 'make format        format the C++ and C sources; format-check only looks, the Python sources too'
	@echo 'make headers       compile every public header by itself'
	@echo 'make tidy          clang-tidy over the C++ sources'
	@echo 'make install       install libraries, headers and tools to PREFIX ($(PREFIX))'
	@echo 'make wheel         install packages, build a Python wheel in build/wheel that runs on other systems too'
	@echo 'make minimal       install packages, build and test in a minimal Debian that never had LibTorch'
	@echo 'make package       install packages, build Debian packages in build/package, check them with lintian, and'
	@echo '                   install, use and remove them in a minimal Debian (docs/deploy.md)'
	@echo 'make image         make package, and a container image of them in build/package/image'
	@echo 'make clean         remove the build folders'

build:
	tools/install_packages.sh build
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS)

demo:
	tools/install_packages.sh build
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target decode_wav runnel
	build/bin/runnel transcribe models/digits/digits.pt --wav_scp=models/digits/samples/wav.scp --partial

serve:
	tools/install_packages.sh build
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target stream_server runnel
	build/bin/runnel serve models/digits/digits.pt --port=$(PORT)

test:
	tools/install_packages.sh test
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target all tests/all
	ctest --preset release --parallel $(TEST_JOBS)

bench:
	tools/install_packages.sh bench
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target bench_encoder bench_operations bench_language_model pack_model decode_wav
	/usr/bin/python3 -m tools.benchmark.report.run

soak:
	tools/install_packages.sh test
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target stream_server load_client decode_wav
	/usr/bin/python3 -m tools.benchmark.soak.run --streams=$(SOAK_STREAMS)

asan-build tsan-build: %-build:
	tools/install_packages.sh check
	cmake --preset $*
	cmake --build --preset $* --parallel $(JOBS)

asan tsan: %: %-build
	ctest --preset $@ --parallel $(TEST_JOBS)

arm64:
	tools/install_packages.sh arm64
	tools/cross/arm64_root.sh
	cmake --preset arm64
	cmake --build --preset arm64 --parallel $(JOBS)
	ctest --preset arm64 --parallel $(JOBS)

windows:
	tools/install_packages.sh windows
	JOBS=$(JOBS) tools/cross/windows_root.sh
	cmake --preset windows
	cmake --build --preset windows --parallel $(JOBS)
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target decode_wav pack_model fork_server
	ctest --preset windows

wasm:
	tools/install_packages.sh wasm
	JOBS=$(JOBS) tools/cross/wasm_root.sh
	cmake --preset wasm
	cmake --build --preset wasm --parallel $(JOBS)
	ctest --test-dir build/wasm --output-on-failure
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target decode_wav fork_server
	ctest --preset wasm

format:
	git ls-files -z '*.h' '*.c' '*.cc' | xargs -0 clang-format -i

format-check:
	git ls-files -z '*.h' '*.c' '*.cc' | xargs -0 clang-format --dry-run -Werror
	git ls-files -z '*.py' | xargs -0 flake8 --max-line-length=100

headers:
	cmake --preset release
	cmake --build --preset release --parallel $(JOBS) --target public_headers

tidy:
	cmake --preset tidy
	cmake --build build-tidy --target generated_headers
	run-clang-tidy -quiet -p build-tidy -j $(JOBS) '^$(CURDIR)/$(TIDY_FOLDERS)/|^$(CURDIR)/build-tidy/$(TIDY_FOLDERS)/.*/Unity/'

install:
	cmake --preset release -D CMAKE_INSTALL_PREFIX=$(PREFIX)
	cmake --build --preset release --parallel $(JOBS)
	cmake --install build

wheel:
	tools/install_packages.sh wheel
	/usr/bin/python3 runtime/python/packaging/portable_wheel.py build/wheel
	/usr/bin/python3 runtime/python/packaging/wheel_check.py build/wheel/*.whl

minimal:
	tools/install_packages.sh package
	JOBS=$(JOBS) tools/deploy/packages/minimal.sh

package:
	tools/install_packages.sh package
	JOBS=$(JOBS) tools/deploy/packages/build.sh
	tools/deploy/packages/check.sh

image: package
	tools/deploy/packages/image.sh

clean:
	rm -rf build build-debug build-asan build-tsan build-tidy
