//! The committed header against the one that the sources give.

use std::path::Path;

use crate::sigma::sigma_functions;

/// To renew the header, delete it and run this test, which writes it and fails once.
#[test]
fn the_committed_header_is_that_of_the_sources() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    config.export.exclude.extend(sigma_functions()); // they have their own header
    let mut header = Vec::new();
    let builder = cbindgen::Builder::new().with_crate(root).with_config(config);
    builder.generate().unwrap().write(&mut header);
    let path = root.join("include/trefoil_pfss.h");
    if !path.exists() {
        std::fs::write(&path, &header).unwrap();
        panic!("{} was missing and has been written", path.display());
    }
    let (expected, got) = (String::from_utf8(header).unwrap(), std::fs::read_to_string(&path).unwrap());
    assert!(expected == got, "{} is not that of the sources: delete it and run this test again", path.display());
}
