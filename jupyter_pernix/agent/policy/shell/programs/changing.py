"""Programs that change files, processes or the machine: making and copying may be remembered, losing and ending is asked each time."""

import re
from collections.abc import Mapping

from ...judgement import Effect
from ..parts import EXACT, Call, Finding
from .findings import always, asks, only_reads, path_words
from .options import Parsed, Spec, parse, spec, word_set

_COPY = spec(
    """a b d H i l L n p P r R s T u v x t> S: archive no-clobber interactive recursive verbose update? preserve? no-preserve: parents
    no-target-directory target-directory> symbolic-link~ link~ reflink? sparse: suffix: backup? dereference no-dereference f! force!
    remove-destination! strip-trailing-slashes attributes-only one-file-system""",
)
MAKING: Mapping[str, Spec] = {
    "cp": _COPY,
    "mv": spec(
        "b i n T u v t> S: no-clobber interactive verbose update? no-target-directory target-directory> suffix: backup? f! force!"
    ),
    "mkdir": spec("p v m~ parents verbose mode~"),
    "touch": spec("a c m r< t: d: h no-create date: reference< time: no-dereference"),
    "tee": spec("a i p append ignore-interrupts output-error?"),
    "split": spec(
        "a: b: C: d e l: n: t: u x? suffix-length: bytes: line-bytes: numeric-suffixes? hex-suffixes? elide-empty-files lines: number: "
        "additional-suffix: separator: unbuffered verbose filter!"
    ),
    "csplit": spec(
        "f: b: n: s q z k prefix: suffix-format: digits: quiet silent elide-empty-files keep-files suppress-matched"
    ),
    "install": spec(
        "b C c D d p s~ t> v m: o~ g~ S: directory compare mode: target-directory> verbose no-target-directory T"
    ),
    "mktemp": spec("d q t u p> directory quiet tmpdir? suffix: dry-run"),
}
DELETES = word_set("rm rmdir unlink shred srm trash trash-put gio wipe rimraf del")
PROCESSES = word_set("kill pkill killall skill snice xkill renice fuser tmux-kill killall5")
MACHINE = word_set("""shutdown reboot halt poweroff init telinit systemctl service rc-service launchctl mount umount
    swapon swapoff losetup cryptsetup lvm
    lvcreate vgcreate pvcreate fdisk sfdisk cfdisk gdisk sgdisk parted partprobe wipefs blkdiscard hdparm tune2fs resize2fs fsck e2fsck
    mkswap mknod iptables ip6tables nft ufw firewall-cmd ip ifconfig route brctl tc ethtool nmcli iw rfkill sysctl modprobe insmod rmmod
    dmesg useradd userdel usermod groupadd groupdel groupmod adduser deluser addgroup passwd chpasswd chsh chfn visudo hostnamectl
    timedatectl localectl loginctl machinectl hwclock ntpdate setenforce setsebool chcon restorecon update-alternatives ldconfig dpkg rpm
    update-rc.d grub-install efibootmgr setcap apparmor_parser auditctl quotaon iptables-restore zfs zpool btrfs mdadm multipath dmsetup
    journalctl diskutil csrutil spctl defaults dscl pmset networksetup softwareupdate tccutil security keychain""")
LATER = word_set("crontab at batch atq atrm anacron systemd-cron incrontab")
RIGHTS = word_set("chmod chown chgrp chattr setfacl setfattr xattr umask")
SECRETS = word_set(
    "gpg gpg2 gpg-agent ssh-keygen ssh-add ssh-agent ssh-copy-id pass op bw lpass secret-tool age sops keyctl certbot step htpasswd"
)
_COMPRESS = word_set(
    "gzip bzip2 xz zstd lz4 compress pigz pbzip2 brotli 7z 7za rar unrar cpio ar jar zip unzip ditto pax"
)
CHANGING = (
    frozenset(MAKING) | DELETES | PROCESSES | MACHINE | LATER | RIGHTS | SECRETS | _COMPRESS | {"ln", "dd",
    "truncate", "tar", "bsdtar", "fallocate"}
    | {"patch", "ed", "rename", "vidir", "sponge", "mkfifo", "link", "symlinks", "xclip", "pbcopy", "xsel",
    "screencapture", "open", "xdg-open"}
)  # fmt: skip
_TAR = spec(
    """c~ x~ r~ u~ A~ d~ k~ m~ p~ O~ a~ create~ extract~ get~ append~ update~ t v z j J f: Z zstd gzip bzip2 xz list verbose file:
    exclude: wildcards no-wildcards""",
    "text",
)


def judge_changing(call: Call) -> Finding:
    name, paths = call.name, path_words(call.args)
    for names, why, effects in _GROUPS:
        if name in names:
            return always(
                why.format(name=name),
                *effects,
                grave=True,
                reads=[*paths],
                writes=_operands(call) if effects[0] == "deletes" else (),
            )
    if name in MAKING:
        return _making(call, MAKING[name])
    special = _SPECIAL.get(name)
    if special is not None:
        return special(call)
    if name in _COMPRESS:
        return _compress(call)
    return always(
        f"{name} changes files or reaches other programs",
        "writes_file",
        grave=name in _OTHER_PROGRAMS,
        reads=paths,
        writes=_operands(call),
    )


_OTHER_PROGRAMS = word_set("xclip pbcopy xsel screencapture open xdg-open")
_GROUPS: tuple[tuple[frozenset[str], str, tuple[Effect, ...]], ...] = (
    (DELETES, "{name} deletes", ("deletes",)),
    (PROCESSES, "{name} ends or changes running programs", ("kills_kernel",)),
    (LATER, "{name} changes what runs later", ("runs_later", "delayed")),
    (RIGHTS, "{name} changes who may do what with files", ("privilege",)),
    (SECRETS, "{name} works with keys", ("reads_secret",)),
    (MACHINE, "{name} changes or looks into this machine itself", ("privilege",)),
)


def _making(call: Call, of: Spec) -> Finding:
    found = parse(of, call.args)
    name, operands = call.name, found.operands
    reads, writes = _made(name, found)
    if found.starts or found.unknown:
        force = found.starts in ("-f", "--force", "--remove-destination") or call.args[:1] == ("-f",)
        why = f"{name} {found.starts or found.unknown} {'overwrites without asking' if force else 'does more than is known'}"
        return always(
            why,
            "writes_file",
            grave=name in ("cp", "mv", "install"),
            reads=[*reads, *path_words(call.args)],
            writes=[*writes, *operands],
        )
    if name in ("mv", "install") and any(path.startswith("/dev/") for path in writes):
        return always(f"{name} puts a file in the place of a device", "deletes", "privilege", grave=True, reads=reads)
    effects: tuple[Effect, ...] = ("moves",) if name == "mv" else ("writes_file",)
    rule = EXACT if found.follows else name
    return asks(f"{name} writes files", rule, effects=effects, reads=reads, writes=writes)


def _made(name: str, found: Parsed) -> tuple[list[str], list[str]]:
    """What of the operands is read, what is written."""
    operands = found.operands
    if name in ("mkdir", "touch", "tee", "mktemp"):
        return found.reads, [*operands, *found.writes]
    if name == "split":
        return operands[:1], [*operands[1:2], *([] if operands[1:2] else ["xaa"])]
    if name == "csplit":
        return operands[:1], ["xx00"]
    if found.writes:
        return operands, [*found.writes, *(operands if name == "mv" else ())]
    moved = operands if name == "mv" else operands[-1:]
    return operands[:-1], moved


def _ln(call: Call) -> Finding:
    found = parse(
        spec(
            "s n v T r i b t> symbolic no-dereference verbose relative no-target-directory target-directory> f! force!"
        ),
        call.args,
    )
    operands = found.operands
    if found.starts or found.unknown:
        return always(
            "ln replaces what stands in its way",
            "writes_file",
            "deletes",
            grave=True,
            reads=operands,
            writes=operands[-1:],
        )
    # the line's judge sees where the link would lead, since a link to outside makes outside look like inside
    folder = operands[-1] if len(operands) > 1 else "."
    target = operands[0] if operands else ""
    leads = (
        target
        if target.startswith("/") or not found.has("-s", "--symbolic")
        else f"{folder.rpartition('/')[0] or '.'}/{target}"
    )
    if not operands or leads in ("/", "//") or ".." in leads.split("/"):
        return always(
            "This link would lead out of the space", "writes_outside", grave=True, reads=[leads], writes=[folder]
        )
    return asks("ln makes a link", "ln", effects=("writes_file",), reads=[leads], writes=[*operands, folder])


def _dd(call: Call) -> Finding:
    values = {name: value for name, _, value in (arg.partition("=") for arg in call.args)}
    return always(
        "dd overwrites files or disks", "writes_file", "deletes", grave=True,
        reads=[values["if"]] if "if" in values else [], writes=[values["of"]] if "of" in values else [],
    )  # fmt: skip


def _truncate(call: Call) -> Finding:
    return always("This cuts files", "deletes", "writes_file", grave=True, writes=_operands(call))


def _tar(call: Call) -> Finding:
    args = call.args
    if args and re.fullmatch("[a-zA-Z]+", args[0]):
        # without a dash the values follow the letters, whatever the order of these
        args = ("-" + args[0].replace("f", "") + ("f" if "f" in args[0] else ""), *args[1:])
    found = parse(_TAR, args)
    archive = found.value("-f", "--file") or ""
    paths = [*path_words(call.args), *(value or "" for name, value in found.given if name in ("-f", "--file"))]
    if ":" in archive or any(
        re.match(r"--(?:to-c|che|use|I|new-v|info-s|rsh|rmt|index)|-I|-F|-[A-Za-z]*[IF]", arg) for arg in args
    ):
        return always(
            "tar is given a program or a machine to use",
            "runs_process",
            "network",
            grave=True,
            reads=paths,
            writes=paths,
        )
    if not (found.unknown or found.follows) and found.has("-t", "--list") and archive:
        return only_reads("tar -t", reads=[archive, *paths])
    if any(
        re.match(
            r"-[A-Za-z]*[PC]|--(?:dir|abs|one|unlink|recursive-unlink|overwrite|remove|transform|xform|strip)", arg
        )
        for arg in args
    ):
        after = [args[at + 1] for at, arg in enumerate(args[:-1]) if re.fullmatch(r"-[A-Za-z]*C|--directory", arg)]
        return always("tar writes or reads where it is told to", "writes_file", reads=paths, writes=[*paths, *after])
    extracts = any(re.match(r"-[A-Za-z]*x|--(?:extract|get)", arg) for arg in args)
    if extracts or not archive:
        return always(
            "tar unpacks whatever the archive names, also files that make something run later",
            "writes_file",
            reads=paths,
        )
    return asks(
        "tar writes an archive", EXACT, effects=("writes_file",), reads=[*paths, *found.operands], writes=[archive]
    )


def _compress(call: Call) -> Finding:
    paths = path_words(call.args)
    if call.name == "unzip" and call.args[:1] in (("-l",), ("-t",)) and len(call.args) == 2:
        return only_reads("unzip -l", reads=call.args[1:])
    shows = "c" in "".join(arg for arg in call.args if arg[:1] == "-") or "-l" in call.args
    if (
        shows
        and call.name in ("gzip", "xz", "bzip2", "zstd")
        and all(re.fullmatch("-[cdklv]*[cl][cdklv]*", arg) for arg in call.args if arg[:1] == "-")
    ):
        return only_reads(call.name, reads=_operands(call))
    if any(arg.startswith(("-TT", "--unzip-command", "--rsh-command")) for arg in call.args):
        return always(f"{call.name} is given a command to run", "runs_process", grave=True, reads=paths)
    return asks(
        f"{call.name} packs or unpacks files", EXACT, effects=("writes_file",), reads=paths, writes=_operands(call)
    )


def _patch(call: Call) -> Finding:
    return asks(
        "patch changes files", EXACT, effects=("writes_file",), reads=path_words(call.args), writes=_operands(call)
    )


def _operands(call: Call) -> list[str]:
    return [arg for arg in call.args if not arg.startswith("-")]


_SPECIAL = {
    "ln": _ln,
    "dd": _dd,
    "truncate": _truncate,
    "fallocate": _truncate,
    "tar": _tar,
    "bsdtar": _tar,
    "patch": _patch,
}
