//! The parser keeps up with the modules that ship.

use std::time::Instant;

use ptx::parse;

/// A limit for a busy machine. An optimized build on an idle one parses a megabyte in a twentieth of a second.
const MOST_SECONDS: f64 = 10.0;

#[test]
fn a_megabyte_parses_in_passing() {
    let sample = include_str!("../data/compiled.ptx");
    let (header, functions) = sample.split_at(sample.find(".visible").unwrap());
    let mut text = header.to_owned();
    // Each copy has unique names.
    for copy in 0..=(1 << 20) / functions.len() {
        text.push_str(&functions.replace(".entry ", &format!(".entry copy{copy}_")));
    }
    // The best of three: other work may get in between.
    let seconds = (0..3).map(|_| {
        let start = Instant::now();
        std::hint::black_box(parse(&text).unwrap());
        start.elapsed().as_secs_f64()
    });
    let seconds = seconds.fold(f64::INFINITY, f64::min);
    assert!(seconds <= MOST_SECONDS, "{} bytes in {seconds:.1} s", text.len());
}
