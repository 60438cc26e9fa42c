//! CPU time of child processes, from `/proc/self/stat` (proc(5), fields 16 and 17).

use std::fs;

/// Ticks per second of the times in `/proc`.
///
/// The kernel's interface fixes it on every architecture that Rust supports.
const TICKS: f64 = 100.0;

/// CPU seconds of all children that this process waited for.
///
/// Children of the children are included. `None` elsewhere than Linux.
pub(super) fn of_children() -> Option<f64> {
    parse(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// Sums `cutime` and `cstime`.
fn parse(stat: &str) -> Option<f64> {
    // The name of the program may hold spaces and parentheses, so fields are counted from behind its last parenthesis.
    let (_, fields) = stat.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(13).map(|field| field.parse::<f64>());
    let (user, system) = (times.next()?.ok()?, times.next()?.ok()?);
    Some((user + system) / TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_children_times_behind_a_name_with_parentheses() {
        let stat = "7 (a) b) c) S 1 7 7 0 -1 4194304 100 200 0 0 11 12 130 14 20 0 1 0 99 1000 10";
        assert_eq!(parse(stat), Some(1.44));
        assert_eq!(parse("7 (a) S 1 7"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn counts_the_time_of_a_child() {
        let before = of_children().unwrap();
        let spin = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done";
        assert!(std::process::Command::new("sh").args(["-c", spin]).status().unwrap().success());
        assert!(of_children().unwrap() > before);
    }
}
