"""git: what only reads, and what does more."""

import pytest

from ..conftest import World
from .tables import lines

READS = lines(r"""
git shortlog -sn
git symbolic-ref --short HEAD
git config --get remote.origin.url
git remote show
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
git symbolic-ref HEAD refs/heads/x
git symbolic-ref -d HEAD
git config --get credential.x.url
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
git diff --ext-diff
git diff -O list.txt
git diff --textc
git diff --outp=x
git log --outp x
git show --textconv
git show --no-ext-diff --output=x
git log -p --output=x
git log -G x --exec=y
git blame --ignore-revs-file /etc/passwd x
git blame --contents=/etc/passwd x
git grep --open x
git grep -Ovim x
git grep --ext-grep x
git grep --no-ind x /etc
git grep -nO x
git ls-files --exclude-from=/etc/passwd
git ls-files --exclude-per-directory=x -i > /etc/x
git cat-file --filters HEAD:x
git cat-file --batch-check
git rev-parse --parseopt
git rev-parse --sq-quote x > /tmp/y
git config --get-color x
git config --file x.cfg a.b
git config -f /etc/gitconfig --list
git config --blob x --list
git config --unset user.name
git config --add a.b c
git config a.b c
git config --replace-all a.b c
git config --global --list
git config --system --list
git config --rename-section a b
git config set a.b c
git config unset a.b
git config credential.helper
git config --get http.extraheader
git config --includes --file x --list
git branch --set-upstream-to=x
git branch -c a b
git branch --track x y
git branch -l x -D y
git branch --list -D y
git branch -rd x/y
git branch --unset-upstream
git tag -l -d x
git tag -l x -f y
git tag x HEAD
git remote -v update
git remote rename a b
git remote set-url origin x
git remote prune origin
git remote -v show origin
git stash show -p --ext-diff
git stash list --output=x
git stash branch x
git stash
git reflog --output=x
git reflog expire
git worktree prune
git worktree list --foo
git submodule status --foo
git submodule init
git submodule summary --foo
git bisect reset
git bisect start
git lfs env --foo
git bundle verify x
git bundle list-heads /etc/x
git sparse-checkout set x
git diff-index --output=x HEAD
git range-diff --output=x a b c
git shortlog --output=x
git fsck --write-graph
git show-index < x
git check-attr --stdin
git check-ignore --stdin
git name-rev --stdin
git name-rev --annotate-stdin
git describe --broken --foo
git status --porcelain --foo=x
git --html-path --exec-path=x status
git --literal-pathspecs -c a=b status
git --no-pager -c core.pager=x log
git --config-env core.pager=X log
git --attr-source=x log
git --namespace=x log
git --super-prefix=x status
git -C src -C ../.. status
git -C src/../.. log
git -C/etc log
git --bare log
git var GIT_EDITOR
git log --format='%(trailers)%G?'
git for-each-ref --format='%(signature)'
git for-each-ref --stdin
git replay x
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
