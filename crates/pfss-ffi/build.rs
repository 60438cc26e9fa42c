//! Linker options of the shared library.

/// The version of the interface: that of `trefoil_pfss_abi_version`, which a test compares.
const INTERFACE: u32 = 3;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        // Functions of other crates stay inside: those of `cuda-loader` have the names of the CUDA driver's.
        println!("cargo::rustc-link-arg-cdylib=-Wl,--exclude-libs,ALL");
        println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,libtrefoil_pfss.so.{INTERFACE}");
    }
}
