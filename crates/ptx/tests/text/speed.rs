//! The parser keeps up with the modules that ship.

use std::time::Instant;

use ptx::parse;

/// A fifth of the 20 MB/s that an optimised build must reach, since tests share the machine and check overflow.
const MIN_BYTES_PER_SECOND: f64 = 4e6;

#[test]
fn a_megabyte_parses_in_passing() {
    let sample = include_str!("../data/compiled.ptx");
    let (header, functions) = sample.split_at(sample.find(".visible").unwrap());
    let mut text = header.to_owned();
    // Each copy has names of its own.
    for copy in 0..=(1 << 20) / functions.len() {
        text.push_str(&functions.replace(".entry ", &format!(".entry copy{copy}_")));
    }
    // The best of three: other work may get in between.
    let seconds = (0..3).map(|_| {
        let start = Instant::now();
        std::hint::black_box(parse(&text).unwrap());
        start.elapsed().as_secs_f64()
    });
    let rate = text.len() as f64 / seconds.fold(f64::INFINITY, f64::min);
    assert!(rate >= MIN_BYTES_PER_SECOND, "{:.1} MB/s", rate / 1e6);
}
