"""git: what only reads, and what does more."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
git status
git status -sb
git status --porcelain
git log
git log --oneline --graph --all -20
git log -p -3 -- src
git log --since='2 weeks ago' --author=me --stat
git log --pretty=format:'%h %s' -n 5
git show HEAD
git show HEAD:README.md
git show --stat HEAD~1
git diff --cached
git diff --stat HEAD~1 HEAD
git diff HEAD~1..HEAD -- src/a.py
git diff --name-only
git branch
git branch -a
git branch -vv
git branch --show-current
git tag
git tag -l 'v*'
git remote
git remote -v
git remote get-url origin
git stash list
git stash show -p
git rev-parse HEAD
git rev-parse --abbrev-ref HEAD
git rev-parse --show-toplevel
git ls-files src
git ls-tree -r HEAD --name-only
git grep -n main
git blame -L 1,5 src/a.py
git shortlog -sn HEAD
git describe --tags --always
git cat-file -p HEAD
git config --get user.email
git worktree list
git --no-pager log -3
git --version
git for-each-ref --format='%(refname)' refs/heads
git show-ref
git merge-base main HEAD
git count-objects -v
git check-ignore -v out
""")

DOES_MORE = lines(r"""
git -c x=y log
git diff --output=x
git log --output x
git diff --no-index a /etc/passwd
git diff /etc/passwd /etc/hosts
git grep -O foo
git grep --open-files-in-pager=x foo
git grep -f /etc/passwd
git grep --no-index x
git blame --contents /etc/passwd list.txt
git cat-file --batch
git cat-file --textconv HEAD:x
git log -Ofoo
git log --ext-diff
git log --show-signature
git log --format=%GG
git branch x
git branch -i foo
git tag -v x
git stash drop
git stash pop
git remote show origin
git remote add x y
git remote update
git submodule foreach ls
git submodule update
git config edit
git config --edit
git config core.editor vim
git config --global user.name x
git config --get remote.origin.url
git commit --am -m x
git commit -am x
git archive --format=x HEAD
git archive -o x HEAD
git bundle create x
git fsck --lost-found
git reflog delete x
git worktree add ../x
git notes add -m x
git describe --dirty --foo
git st
git log --oneline -- ../x
git -C .. log
git -C outlink log
git --work-tree=/ diff
git ls-files -X /etc/passwd
git rev-list --stdin
git diff-tree --stdin
git -p log
git status --foo
git show --ext-diff
git lfs pull
git maintenance run
git help log
""")


@pytest.mark.parametrize("line", READS)
def test_line_that_only_reads_is_not_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "auto", judgement


@pytest.mark.parametrize("line", DOES_MORE)
def test_line_that_may_do_more_is_asked(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling in ("ask", "ask_always"), judgement
    assert judgement.why
