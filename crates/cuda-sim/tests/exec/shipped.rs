//! Every kernel that ships decodes.

use cuda_sim::exec::Program;

#[test]
fn every_shipped_kernel_loads() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernels-ptx/ptx");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "ptx") {
            let text = std::fs::read_to_string(&path).unwrap();
            Program::load(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
    }
}
