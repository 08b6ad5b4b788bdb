//! Messages as logs really have them: wrapped, prefixed, coloured, cut, shortened, mixed with others. Each is decoded, or
//! refused with its line; a wrong number is the one thing that must not come.

use lowtide_ingest::log::Family::{
    self, CpuAllocator, Cuda, DataLoader, Docker, EarlyOom, ExitCode, Hip, Kernel, Kubernetes, Lsf, Mps, Numpy, Pbs, Slurm,
    Systemd, TensorFlow,
};

use crate::{GIB, KIB, MIB, has, log, one};

const E: &str = "CUDA out of memory. Tried to allocate 22.00 MiB. GPU 3 has a total capacity of 23.65 GiB of which 11.06 MiB is free. Including non-PyTorch memory, this process has 23.60 GiB memory in use. Of the allocated memory 22.90 GiB is allocated by PyTorch, and 194.87 MiB is reserved by PyTorch but unallocated.";
const OLD: &str = "CUDA out of memory. Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 GiB already allocated; 1.40 GiB free; 5.28 GiB reserved in total by PyTorch)";
const KILL: &str = "Memory cgroup out of memory: Killed process 63214 (uwsgi) total-vm:3149468kB, anon-rss:164992kB, file-rss:52176kB, shmem-rss:92kB, UID:0 pgtables:1372kB oom_score_adj:986";

fn of_e() -> Vec<(&'static str, f64)> {
    vec![
        ("tried_to_allocate", 22.0 * MIB),
        ("gpu", 3.0),
        ("total_capacity", 23.65 * GIB),
        ("free", 11.06 * MIB),
        ("process_in_use", 23.6 * GIB),
        ("allocated", 22.9 * GIB),
        ("reserved_unallocated", 194.87 * MIB),
    ]
}

fn of_old() -> Vec<(&'static str, f64)> {
    vec![
        ("tried_to_allocate", 1.65 * GIB),
        ("gpu", 1.0),
        ("total_capacity", 7.79 * GIB),
        ("allocated", 3.53 * GIB),
        ("free", 1.4 * GIB),
        ("reserved", 5.28 * GIB),
    ]
}

fn of_kill() -> Vec<(&'static str, f64)> {
    vec![
        ("pid", 63_214.0),
        ("total_vm", 3_149_468.0 * KIB),
        ("anon_rss", 164_992.0 * KIB),
        ("file_rss", 52_176.0 * KIB),
        ("shmem_rss", 92.0 * KIB),
        ("uid", 0.0),
        ("pgtables", 1372.0 * KIB),
        ("oom_score_adj", 986.0),
    ]
}

/// Hard wrap, as a terminal does.
fn wrapped(text: &str, width: usize, end: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    chars.chunks(width).map(|line| line.iter().collect::<String>()).collect::<Vec<_>>().join(end)
}

/// Wrap at blanks, as an editor does.
fn filled(text: &str, width: usize, indent: &str) -> String {
    let (mut out, mut column) = (String::new(), 0);
    for word in text.split(' ') {
        if column > 0 && column + word.len() > width {
            out.push('\n');
            out.push_str(indent);
            column = 0;
        } else if column > 0 {
            out.push(' ');
        }
        out.push_str(word);
        column += word.len() + 1;
    }
    out
}

#[test]
fn wrapped_at_every_width() {
    for width in 11..120 {
        has(&wrapped(E, width, "\n"), Cuda, &of_e());
        has(&wrapped(OLD, width, "\r\n"), Cuda, &of_old());
        let kill = one(&wrapped(KILL, width, "\n")).numbers();
        for (name, value) in of_kill() {
            // The last number of a message: whether the digits of the next line belong to it nobody knows.
            assert!(kill.get(name) == Some(&value) || (name == "oom_score_adj" && !kill.contains_key(name)), "{name}: {kill:?}");
        }
        has(&filled(E, width, "    "), Cuda, &of_e());
    }
}

#[test]
fn with_prefixes_of_every_sort() {
    for prefix in [
        "[rank3]: ",
        "[rank3]:torch.OutOfMemoryError: ",
        "rank 3: ",
        "3: ",
        "2024-05-01T12:00:00.123456789Z ",
        "2024-05-01 12:00:00,123 - ",
        "[2024-05-01 12:00:00,123][train][ERROR] - ",
        "May 15 23:09:30 node-7 train[812]: ",
        "(TrainWorker pid=4711, ip=10.0.0.3) ",
        "[pod/train-0/main] ",
        "trainer-1  | ",
        "2016-10-06T00:17:09.669794202Z stderr F ",
        "> ",
        "E0501 12:00:00.000000 140 train.py:88] ",
        "RuntimeError: ",
        "\u{1b}[31m",
        "2024-05-01 12:00:00,123 [rank1]: torch.cuda.OutOfMemoryError: ",
    ] {
        has(&format!("{prefix}{E}\n"), Cuda, &of_e());
    }
    for prefix in [
        "[ 7063.247407] ",
        "<3>[ 7063.247407] ",
        "kern  :err   : [ 7063.2474] ",
        "May 15 23:09:30 n kernel: ",
        "[Mon Dec  8 17:51:31 2025] ",
    ] {
        has(&format!("{prefix}{KILL}\n"), Kernel, &of_kill());
    }
}

#[test]
fn every_line_has_its_prefix() {
    let lines = filled(E, 60, "");
    let each: String = lines.lines().map(|line| format!("[rank2]: {line}\n")).collect();
    has(&each, Cuda, &of_e());
}

#[test]
fn boxes_quotes_json_and_bars() {
    let boxed: String = filled(E, 70, "").lines().map(|line| format!("│ {line:<72} │\n")).collect();
    has(&format!("╭──── Traceback ────╮\n{boxed}╰───────────────────╯\n"), Cuda, &of_e());
    has(&format!("{{\"log\":\"{E}\\n\",\"stream\":\"stderr\",\"time\":\"2024-05-01T12:00:00Z\"}}\n"), Cuda, &of_e());
    has(&format!(" 10%|#         | 1/10\r 20%|##        | 2/10\r{E}\n"), Cuda, &of_e());
    has(&format!("{{\"level\": \"error\", \"msg\": \"{E}\"}}"), Cuda, &of_e());
    has(&E.replace(' ', "\u{a0}"), Cuda, &of_e());
}

#[test]
fn cut_anywhere_gives_no_wrong_number() {
    for (text, family, all) in [(E, Cuda, of_e()), (OLD, Cuda, of_old()), (KILL, Kernel, of_kill())] {
        for end in 0..text.len() {
            for tail in [
                "",
                "\n5 GiB of data read in 12 s\n",
                "\n[rank0]: 99 MiB free\n",
                "\nepoch 17: 3.5 it/s, RAM 12.3GB free\n",
                "\n7kB\n",
            ] {
                let told = log(&format!("{}{tail}", &text[..end]));
                for incident in &told.incidents {
                    assert!(
                        incident.messages.iter().all(|message| message.family == family || message.family == Family::KernelPart)
                    );
                    for (name, value) in incident.numbers() {
                        let right = all.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
                        // The last number of a message cannot be told from a shorter one; it is no amount of memory.
                        let last = matches!(name.as_str(), "oom_score_adj") && end < text.len();
                        assert!(
                            last || right.map(f64::round) == Some(value.round()),
                            "{name} = {value} from\n{}{tail}",
                            &text[..end]
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn other_units_and_shapes_of_numbers() {
    for (amount, bytes) in [
        ("22.00 MB", 22.0 * MIB),
        ("22.00MiB", 22.0 * MIB),
        ("22 MiB", 22.0 * MIB),
        ("0.02 GiB", 0.02 * GIB),
        ("512 bytes", 512.0),
        ("1,006.00 MiB", 1006.0 * MIB),
        ("22,50 MiB", 22.5 * MIB),
        ("1.50 TiB", 1536.0 * GIB),
    ] {
        let numbers = one(&E.replace("22.00 MiB", amount)).numbers();
        assert_eq!(numbers["tried_to_allocate"], bytes.round(), "{amount}");
    }
    for refused in ["1,234 MiB", "1.2.3 MiB", "22.00", "22.00 Models", "lots"] {
        let told = log(&E.replace("22.00 MiB", refused));
        assert_eq!(told.incidents.len(), 1);
        assert!(!told.incidents[0].numbers().contains_key("tried_to_allocate"), "{refused}: {:?}", told.incidents[0].numbers());
        assert_eq!(told.incidents[0].numbers()["total_capacity"], (23.65 * GIB).round(), "{refused}");
    }
    let told = log(&format!("first line\n{}", E.replace("22.00 MiB", "1,234 MiB")));
    assert!(told.said.iter().any(|said| said.contains("line 2") && said.contains("1,234")), "{:?}", told.said);
}

#[test]
fn shortened_by_their_users() {
    has(
        "Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 GiB already allocated; 1.40 GiB free; 5.28 GiB reserved in total by PyTorch)",
        Cuda,
        &of_old(),
    );
    has("cuda out of memory, tried to allocate 2.00 GiB", Cuda, &[("tried_to_allocate", 2.0 * GIB)]);
    has(
        "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 7.79 GiB total; 3.53 GiB allocated; 1.40 GiB free)",
        Cuda,
        &[
            ("tried_to_allocate", 2.0 * GIB),
            ("gpu", 0.0),
            ("total_capacity", 7.79 * GIB),
            ("allocated", 3.53 * GIB),
            ("free", 1.4 * GIB),
        ],
    );
    has("HIP out of memory. Tried to allocate 2.00 MiB.", Hip, &[("tried_to_allocate", 2.0 * MIB)]);
    has("MPS backend out of memory (MPS allocated: 6.04 GB, oth", Mps, &[("mps_allocated", 6.04 * GIB)]);
    has(
        "Out of memory: Killed process 77 (python3.11) total-vm:26,184,840kB, anon-rss:1,000kB",
        Kernel,
        &[("pid", 77.0), ("total_vm", 26_184_840.0 * KIB), ("anon_rss", 1000.0 * KIB)],
    );
    has("Out of memory: Killed process 77 (Web Content) total-vm:8kB", Kernel, &[("pid", 77.0), ("total_vm", 8.0 * KIB)]);
}

#[test]
fn other_programs() {
    has(
        "[enforce fail at alloc_cpu.cpp:116] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to\n allocate 40000000000000 bytes. Error code 12 (Cannot allocate memory)",
        CpuAllocator,
        &[("source_line", 116.0), ("tried_to_allocate", 4e13), ("error_code", 12.0)],
    );
    has(
        "RuntimeError: DataLoader worker (pid 12, 13) is killed by signal: Killed. Details are lost",
        DataLoader,
        &[("pid", 12.0), ("pid_2", 13.0), ("signal", 9.0)],
    );
    has(
        "numpy.core._exceptions.MemoryError: Unable to allocate 29.8 GiB for an array with shape (4000000000,) and data type int64",
        Numpy,
        &[("tried_to_allocate", 29.8 * GIB), ("array_bytes", 3.2e10)],
    );
    has(
        "MemoryError: Unable to allocate 2.33 MiB for an array with shape (640, 480) and data type float64",
        Numpy,
        &[("tried_to_allocate", 2.33 * MIB), ("array_bytes", 2_457_600.0)],
    );
    has(
        "May 15 23:09:30 host systemd-oomd[812]: Killed /user.slice/user-1000.slice/user@1000.service/app.slice/train.scope due to memory pressure for /user.slice/user-1000.slice/user@1000.service being 65.43% > 50.00% for > 20s with reclaim activity",
        Systemd,
        &[("pressure_percent", 65.43), ("threshold_percent", 50.0), ("pressure_seconds", 20.0)],
    );
    has(
        "systemd-oomd[812]: Killed /a.scope due to memory used (16000000000) / total (16700000000) and swap used (2000000000) / total (2100000000) being more than 90.00%",
        Systemd,
        &[("used", 1.6e10), ("total", 1.67e10), ("swap_used", 2e9), ("swap_total", 2.1e9), ("threshold_percent", 90.0)],
    );
    has("systemd[1]: train.service: Failed with result 'oom-kill'.", Systemd, &[]);
    has(
        "earlyoom[700]: sending SIGTERM to process 12345 uid 1000 \"python\": badness 1234, VmRSS 12345 MiB",
        EarlyOom,
        &[("pid", 12_345.0), ("uid", 1000.0), ("oom_score", 1234.0), ("rss", 12_345.0 * MIB)],
    );
    has(
        "=>> PBS: job killed: mem 12345678kb exceeded limit 10485760kb",
        Pbs,
        &[("used", 12_345_678.0 * KIB), ("limit", 10_485_760.0 * KIB)],
    );
    has(
        "TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\nExited with exit code 137.\n\nResource usage summary:\n\n    CPU time :                                   12.00 sec.\n    Max Memory :                                 16384 MB\n    Average Memory :                             9000.50 MB\n    Total Requested Memory :                     16000.00 MB\n    Delta Memory :                               -384.00 MB\n",
        Lsf,
        &[
            ("exit_code", 137.0),
            ("max_memory", 16_384.0 * MIB),
            ("average_memory", 9000.5 * MIB),
            ("requested_memory", 16_000.0 * MIB),
            ("delta_memory", -384.0 * MIB),
        ],
    );
    has(
        "The node was low on resource: memory. Threshold quantity: 100Mi, available: 50Ki. Container main was using 12Gi, request is 1Gi, has larger consumption of memory.",
        Kubernetes,
        &[("threshold", 100.0 * MIB), ("available", 50.0 * KIB), ("used", 12.0 * GIB), ("request", GIB)],
    );
    has(
        "  containerStatuses:\n  - lastState:\n      terminated:\n        exitCode: 137\n        finishedAt: \"2024-01-01T00:00:00Z\"\n        reason: OOMKilled\n",
        Kubernetes,
        &[("exit_code", 137.0)],
    );
    has("\"lastState\":{\"terminated\":{\"exitCode\":137,\"reason\":\"OOMKilled\"}}", Kubernetes, &[("exit_code", 137.0)]);
    has(
        "    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n    Limits:\n      cpu:     4\n      memory:  16Gi\n",
        Kubernetes,
        &[("exit_code", 137.0), ("limit", 16.0 * GIB)],
    );
    has("{\"OOMKilled\":true,\"Pid\":0,\"ExitCode\":137,\"Memory\":0,}", Docker, &[("exit_code", 137.0)]);
    has(
        "Ran out of memory in memory space hbm. Used 17.20G of 15.48G hbm. Exceeded hbm capacity by 1.72G.",
        TensorFlow,
        &[("used", 17.2 * GIB), ("total_capacity", 15.48 * GIB), ("exceeded_by", 1.72 * GIB)],
    );
    has("RESOURCE_EXHAUSTED: Out of memory allocating 4294967296 bytes.", TensorFlow, &[("tried_to_allocate", 4_294_967_296.0)]);
    has(
        "slurmstepd: error: Step 1234.0 exceeded memory limit (20 > 10), being killed",
        Slurm,
        &[("job_id", 1234.0), ("step_id", 0.0), ("used", 20.0 * KIB), ("limit", 10.0 * KIB)],
    );
    has(
        "slurmstepd-node1: error: Detected 3 oom-kill event(s) in StepId=9.extern cgroup.",
        Slurm,
        &[("oom_kill_events", 3.0), ("job_id", 9.0)],
    );
    has("process exited with code 137", ExitCode, &[("exit_code", 137.0)]);
}

#[test]
fn what_tells_of_nothing() {
    for text in [
        "memory usage is fine, nobody was killed",
        "the exit code 0 of a happy end",
        "torch.cuda.empty_cache() avoids out of memory errors",
        "except MemoryError:",
        "raise MemoryError if x else None",
        "OOM-safe: True",
        "Allocated 12 GiB of 24 GiB",
        "killed it in the benchmark",
        "OSError: [Errno 2] No such file or directory",
    ] {
        let told = log(text);
        assert!(told.incidents.is_empty(), "{text}: {:#?}", told.incidents);
    }
}

/// More of what users paste: other units, wraps, prefixes, ranks, ends of lines, colours.
#[test]
fn more_shapes_of_the_same() {
    let pools = "CUDA out of memory. Tried to allocate 2.00 MiB. GPU 0 has a total capacity of 79.15 GiB of which 1.38 MiB is free. Process 608946 has 14.91 GiB memory in use. Process 734147 has 64.24 GiB memory in use. 60.00 GiB allowed; Of the allocated memory 1017.01 MiB is allocated by PyTorch, with 17.00 MiB allocated in private pools (e.g., CUDA Graphs), and 54.99 MiB is reserved by PyTorch but unallocated.";
    let of_pools = [
        ("tried_to_allocate", 2.0 * MIB),
        ("gpu", 0.0),
        ("total_capacity", 79.15 * GIB),
        ("free", 1.38 * MIB),
        ("process_608946_in_use", 14.91 * GIB),
        ("process_734147_in_use", 64.24 * GIB),
        ("allowed", 60.0 * GIB),
        ("allocated", 1017.01 * MIB),
        ("private_pools", 17.0 * MIB),
        ("reserved_unallocated", 54.99 * MIB),
    ];
    for (what, text) in [
        ("as it is", pools.to_owned()),
        ("CRLF at every sentence", pools.replace(". ", ".\r\n")),
        ("wrapped at 40", filled(pools, 40, "")),
        ("a hard wrap at 23", wrapped(pools, 23, "\r\n")),
        ("tabs for blanks", pools.replace(' ', "\t")),
        ("two blanks", pools.replace(' ', "  ")),
        ("coloured", format!("\u{1b}[1;31mtorch.OutOfMemoryError\u{1b}[0m: \u{1b}[35m{pools}\u{1b}[0m")),
        ("each number coloured", pools.replace("1017.01", "\u{1b}[36m1017.01\u{1b}[0m")),
        ("in quotes", format!("error=\"{pools}\"")),
        ("in Python's repr", format!("OutOfMemoryError('{pools}')")),
        ("Ray's prefix at every line", filled(pools, 60, "").lines().map(|line| format!("(pid=4711) {line}\n")).collect()),
        ("quoted in a mail", filled(pools, 60, "").lines().map(|line| format!("> > {line}\n")).collect()),
        ("no blank before units", pools.replace(" MiB", "MiB").replace(" GiB", "GiB")),
        (
            "after a progress bar",
            format!("  3%|3         | 3/100 [00:12<06:28,  4.0s/it, mem=12.3G]{}", format_args!("\r{pools}")),
        ),
        ("small letters", pools.to_lowercase()),
        ("a UTF-8 mark at the start", format!("\u{feff}{pools}")),
    ] {
        let told = log(&text);
        assert!(!told.incidents.is_empty(), "{what}: nothing found");
        for incident in &told.incidents {
            for (name, value) in incident.numbers() {
                let right = of_pools.iter().find(|(known, _)| *known == name);
                assert!(right.is_some_and(|(_, right)| right.round() == value), "{what}: {name} = {value}");
            }
        }
        if !matches!(what, "small letters") {
            has(&text, Cuda, &of_pools);
        }
    }
}

/// Ranks that die together write into one file in whatever order; each one's numbers stay its own, or are not told.
#[test]
fn ranks_in_a_mixed_order() {
    let of = |rank: u32| E.replace("GPU 3", &format!("GPU {rank}")).replace("22.00 MiB", &format!("{}.00 MiB", 20 + rank));
    let pieces: Vec<Vec<String>> =
        (0..4).map(|rank| filled(&of(rank), 50, "").lines().map(|line| format!("[rank{rank}]: {line}")).collect()).collect();
    for turn in 0..4_usize {
        let mut text = String::new();
        for at in 0.. {
            let lines = (0..4_usize).filter_map(|rank| pieces[(rank * 3 + turn) % 4].get(at));
            let before = text.len();
            for line in lines {
                text.push_str(line);
                text.push_str(if turn % 2 == 0 { "\n" } else { "\r\n" });
            }
            if text.len() == before {
                break;
            }
        }
        let incident = one(&text);
        assert_eq!(incident.messages.len(), 4, "{text}");
        let mut ranks: Vec<f64> = incident.messages.iter().map(|message| message.numbers["gpu"]).collect();
        ranks.sort_by(f64::total_cmp);
        assert_eq!(ranks, [0.0, 1.0, 2.0, 3.0], "{text}");
        for message in &incident.messages {
            assert_eq!(message.numbers["tried_to_allocate"], ((20.0 + message.numbers["gpu"]) * MIB).round());
            assert_eq!(message.numbers["allocated"], (22.9 * GIB).round());
        }
    }
}

#[test]
fn more_programs_and_places() {
    has(
        "torch.OutOfMemoryError: XPU out of memory. Tried to allocate 4.66 GiB. GPU 1 has a total capacity of 5.65 GiB of which 0 bytes is free. Of the allocated memory 195.50 KiB is allocated by PyTorch, and 512 bytes is reserved by PyTorch but unallocated.",
        Family::Xpu,
        &[
            ("tried_to_allocate", 4.66 * GIB),
            ("gpu", 1.0),
            ("total_capacity", 5.65 * GIB),
            ("free", 0.0),
            ("allocated", 195.5 * KIB),
            ("reserved_unallocated", 512.0),
        ],
    );
    has(
        "(VllmWorkerProcess pid=1123) ERROR 12-01 10:00:00 engine.py:366] HIP out of memory. Tried to allocate 1.50 GiB. GPU 7 has a total capacity of 191.98 GiB of which 1.02 GiB is free.",
        Hip,
        &[("tried_to_allocate", 1.5 * GIB), ("gpu", 7.0), ("total_capacity", 191.98 * GIB), ("free", 1.02 * GIB)],
    );
    has(
        "MPS backend out of memory (MPS allocated: 512.00 KB, other allocations: 1.04 GB, max allowed: 6.77 GB). Tried to allocate 256 bytes on shared pool.",
        Mps,
        &[
            ("mps_allocated", 512.0 * KIB),
            ("other_allocations", 1.04 * GIB),
            ("max_allowed", 6.77 * GIB),
            ("tried_to_allocate", 256.0),
        ],
    );
    has(
        "Nov 29 03:00:01 gpu-12 kernel: [12345.678901] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=x,mems_allowed=0-1,oom_memcg=/slurm/uid_1/job_9,task_memcg=/slurm/uid_1/job_9/step_0,task=pt_data_worker,pid=77,uid=1\r\nNov 29 03:00:01 gpu-12 kernel: [12345.678910] Memory cgroup out of memory: Killed process 77 (pt_data_worker) total-vm:100kB, anon-rss:40kB, file-rss:8kB, shmem-rss:4kB, UID:1 pgtables:1kB oom_score_adj:-17\r\n",
        Kernel,
        &[
            ("pid", 77.0),
            ("uid", 1.0),
            ("total_vm", 100.0 * KIB),
            ("anon_rss", 40.0 * KIB),
            ("file_rss", 8.0 * KIB),
            ("shmem_rss", 4.0 * KIB),
            ("pgtables", KIB),
            ("oom_score_adj", -17.0),
        ],
    );
    has(
        "\u{1b}[33mslurmstepd: error: Detected 2 oom_kill events in StepId=7.3. Some of the step tasks have been OOM Killed.\u{1b}[0m",
        Slurm,
        &[("oom_kill_events", 2.0), ("job_id", 7.0), ("step_id", 3.0)],
    );
    has(
        "[rank1]: RuntimeError: DataLoader worker (pid 46794) is killed by signal: Killed. ",
        DataLoader,
        &[("pid", 46_794.0), ("signal", 9.0)],
    );
    let told = log("loss 0.5\nRuntimeError: DataLoader worker (pid(s) 3216, 3217) exited unexpectedly");
    assert!(told.incidents.is_empty() && told.said[0].starts_with("line 2:"), "{:?}", told.said);
    // A run that made do with less: it went on, and its batch is no amount of memory.
    let told = log("WARNING CUDA out of memory with batch=16. Reducing to batch=8 and retrying (1/3).");
    assert!(told.incidents.iter().all(|incident| incident.numbers().is_empty()), "{:#?}", told.incidents);
}
