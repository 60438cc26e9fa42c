//! Linker options of the shared library.

/// The version of the interface, equal to `trefoil_pfss_abi_version`; a test compares them.
const INTERFACE: u32 = 3;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Functions of other crates stay inside: `cuda-loader` exports the same names as the CUDA driver.
        println!("cargo::rustc-link-arg-cdylib=-Wl,--exclude-libs,ALL");
        println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libtrefoil_pfss.so.{INTERFACE}");
    }
}
