//! Memory of the machine.

use std::fs;

/// Bytes of memory that programs can still allocate.
///
/// Counts the memory of the machine and, if it limits this process, of its control group. `None` if
/// the system does not report it.
pub(super) fn available_bytes() -> Option<u64> {
    let info = fs::read_to_string("/proc/meminfo").ok()?;
    let machine = available(&info)?;
    let number = |name: &str| fs::read_to_string(format!("/sys/fs/cgroup/{name}")).ok()?.trim().parse::<u64>().ok();
    let group = number("memory.max").zip(number("memory.current")).map(|(max, held)| max.saturating_sub(held));
    Some(group.map_or(machine, |group| group.min(machine)))
}

/// The line `MemAvailable` of `/proc/meminfo`, in bytes.
fn available(info: &str) -> Option<u64> {
    let line = info.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let info = "MemTotal:       24615032 kB\nMemFree:        1 kB\nMemAvailable:   23456789 kB\n";
        assert_eq!(available(info), Some(23_456_789 << 10));
        assert_eq!(available("MemTotal: 3 kB\n"), None);
    }
}
