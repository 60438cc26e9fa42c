//! Symbols exported by the libraries: a program that also links the CUDA driver calls the driver.

use std::{fs, path::PathBuf, process::Command};

use test_process::LIMIT;

#[cfg(target_os = "linux")]
use crate::example::installed;

/// A program whose driver answers 42.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "trefoil_pfss.h"
extern int cuInit(unsigned flags);
int main(void) { printf("%d %u\n", cuInit(0), trefoil_pfss_abi_version()); return 0; }
"#;

fn run(command: &mut Command) -> String {
    let output = test_process::output(command, LIMIT);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Both libraries as they are installed.
#[cfg(target_os = "linux")]
fn libraries() -> [PathBuf; 2] {
    ["libtrefoil_pfss.a", "libtrefoil_pfss.so"].map(|name| installed("symbols").join("lib").join(name))
}

#[cfg(target_os = "linux")]
#[test]
fn a_program_that_links_the_driver_too_calls_the_driver() {
    let folder = tempfile::tempdir().unwrap();
    let expected = format!("42 {}\n", trefoil_pfss::trefoil_pfss_abi_version());
    let prefix = installed("symbols");
    fs::write(folder.path().join("driver.c"), "int cuInit(unsigned flags) { (void)flags; return 42; }\n").unwrap();
    fs::write(folder.path().join("program.c"), PROGRAM).unwrap();
    run(Command::new("cc").args(["-shared", "-fPIC", "-o", "libcuda.so", "driver.c"]).current_dir(folder.path()));
    let searched = format!("{}:{}", folder.path().display(), prefix.join("lib").display());
    for (which, library) in libraries().iter().enumerate() {
        for driver_first in [true, false] {
            let program = folder.path().join(format!("program-{which}-{driver_first}"));
            let driver = folder.path().join("libcuda.so");
            let order = if driver_first { [&driver, library] } else { [library, &driver] };
            let mut compiler = Command::new("cc");
            compiler.arg("-I").arg(prefix.join("include")).arg(folder.path().join("program.c")).args(order);
            run(compiler.args(["-lpthread", "-ldl", "-lm", "-o"]).arg(&program));
            assert_eq!(run(Command::new(&program).env("LD_LIBRARY_PATH", &searched)), expected, "{library:?}");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn libraries_export_the_functions_of_the_headers_alone() {
    let include = installed("symbols").join("include");
    let headers = ["trefoil_pfss.h", "trefoil_sigma.h"].map(|name| fs::read_to_string(include.join(name)).unwrap());
    let [archive, shared] = libraries();
    for (library, options) in
        [(archive, &["--defined-only", "--extern-only"][..]), (shared, &["--defined-only", "--dynamic"])]
    {
        let symbols = run(Command::new("nm").args(options).arg(&library));
        let names: Vec<_> = symbols.lines().filter_map(|line| line.rsplit_once(' ')).map(|(_, name)| name).collect();
        assert!(names.len() > 20, "{library:?}: {symbols}");
        for name in names {
            let declared = headers.iter().any(|header| header.contains(&format!("{name}(")));
            assert!(declared, "{library:?} exports {name}");
        }
    }
}
