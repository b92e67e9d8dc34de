"""The rule that is offered for a program, and the programs that are asked each time."""

import pytest

from ..conftest import World
from .tables import lines

REMEMBERED = lines(r"""
cargo build                    | cargo build --release
cargo fmt                      | cargo +nightly fmt
cargo clean                    | cargo clean
npm ci                         | npm ci
npm run                        | npm run build -- --watch
npm test                       | npm --prefix sub test
yarn test                      | yarn test
pnpm run                       | pnpm -C sub run build
make                           | make
make                           | make -j8
make test                      | make -j 8 test
make all test                  | make all test
pytest                         | pytest tests -k 'a or b'
python -m pytest               | python -m pytest -q
python -m unittest             | python -W error -m unittest
python src/a.py                | python -u src/a.py --n 1
python3 src/a.py               | python3 src/a.py
python -m pip install          | python -m pip install x
node src/x.js                  | node src/x.js
node --test                    | node --test
ruby a.rb                      | ruby a.rb
go build                       | go build ./...
go run                         | go run .
uv sync                        | uv sync
uv pip install                 | uv pip install x
pip3 install                   | pip3 install x
uv run pytest                  | uv run --with x pytest -q
uv run python -m pytest        | uv run python -m pytest
uv run x.py                    | uv run x.py
uvx ruff check                 | uvx ruff check
uv tool run ruff               | uv tool run ruff
poetry run pytest              | poetry run pytest
conda run pytest               | conda run -n x pytest
pipx run black                 | pipx run black .
bundle exec rspec              | bundle exec rspec
pnpm exec vite                 | pnpm exec vite
npm exec vite                  | npm exec vite
npm exec vite                  | npm exec -- vite
npx @scope/pkg                 | npx @scope/pkg build
npx create-vite                | npx --yes create-vite
npx vite@latest                | npx vite@latest
docker compose up              | docker compose up -d
docker compose up              | docker compose -f x.yml up
docker build                   | docker build -t x .
kubectl get                    | kubectl get pods -n dev
kubectl logs                   | kubectl logs x
gh pr view                     | gh pr view 1
gh pr view                     | gh -R a/b pr view 1
gh pr view                     | gh pr -R a/b view 1
aws s3 ls                      | aws s3 ls
aws s3 ls                      | aws --profile x s3 ls
aws ec2 describe-instances     | aws ec2 describe-instances
gcloud compute instances list  | gcloud compute instances list
terraform plan                 | terraform plan
pre-commit run                 | pre-commit run --all-files
just build                     | just build
gradle test                    | gradle test
mvn clean install              | mvn -q clean install
tsc                            | tsc --noEmit
black                          | black .
mkdir                          | mkdir -p out/a
touch                          | touch x
cp                             | cp -r src out
mv                             | mv list.txt l2.txt
ln                             | ln -s src s2
tee                            | tee out.txt
git add                        | git add .
git commit                     | git commit -am msg
git commit                     | git commit -m 'a /b'
git checkout                   | git checkout main
git checkout                   | git checkout -b topic
git switch                     | git switch main
git pull                       | git pull
git clone                      | git clone https://example.com/a.git
git mv                         | git mv a b
git revert                     | git revert HEAD
git cherry-pick                | git cherry-pick abc
git stash                      | git stash push -m x
git branch                     | git branch -u origin/main
git tag                        | git tag -a v2 -m x
cargo test                     | taskset -c 0 cargo test
cargo test                     | chrt -b 0 cargo test
cargo test                     | env cargo test
cargo test                     | env FOO=1 cargo test
make test                      | time -p make test
cargo test                     | nohup cargo test
cargo test                     | ionice -c3 nice -n 5 cargo test
ls                             | command ls
curl                           | curl -s https://example.com
wget                           | wget https://example.com/a
wget                           | wget -q -O - https://example.com/a
dig                            | dig example.com
ping                           | ping -c 3 example.com
xargs wc                       | ls | xargs wc -l
xargs ruff check               | ls | xargs ruff check
eslint                         | eslint .
frobnicate                     | frobnicate x y
bash scripts/test.sh           | bash -e scripts/test.sh
pip uninstall                  | pip uninstall x
tail                           | tail -F list.txt
jupyter kernelspec list        | jupyter kernelspec list
jupyter lab                    | jupyter lab
jupyter nbconvert              | jupyter nbconvert --execute a.ipynb
""")

ONLY_THIS_LINE = lines(r"""
sort --output=out.txt list.txt
uniq list.txt out.txt
sed 's/a/b/w out.txt' list.txt
sed -i.bak s/a/b/ list.txt
git diff --output=x.diff
git diff --output x.diff
shuf -o x list.txt
tree --foo
curl -o a.zip https://example.com/a.zip
curl -X DELETE localhost:3000/x
make -C sub test
docker exec app ls
java -jar x.jar
cargo -Z unstable build
tar -czf a.tgz src
find . -name '*.log' -fprint out
awk '{print > "o"}' list.txt
xxd -r a b
git archive -o x.tar HEAD
git apply x.diff
patch -p1
""")

EACH_TIME = lines(r"""
pip config set global.index-url x
xargs sh
ls | xargs cp -t /tmp
ls | xargs git
frobnicate publish
hg push
npx rm -rf x
uv run python -c 'x'
env LD_PRELOAD=x ls
env -C / ls
kubectl get secrets
kubectl apply -f x
helm upgrade x
gh pr merge 1
gh secret set x
gh auth token
gh api repos/x -f a=b
aws s3 cp a s3://b
aws secretsmanager get-secret-value --secret-id x
az vm delete
terraform apply
hf upload x
wandb login
dvc push
twine upload x
python -m twine upload x
poetry publish
uv publish
mvn deploy
mvn test deploy
gradle :app:publish
yarn npm publish
gem push x
vercel
vercel deploy
fly deploy
docker run -v /:/x alpine ls
docker run --privileged alpine
docker compose down
docker exec app rm x
go test -exec ./x ./...
go build -toolexec=./x
cargo publish
npm unpublish x
make SHELL=x
make 'CC=$(shell x)'
make -E x
python -m http.server
python -m timeit x
python -i src/a.py
python -ic x
python - x
node --require ./x a.js
node --inp x
bash -lc ls
bash --rcfile x
bash -s
perl -ne print x
ruby -ne x
sqlite3 x.db 'select 1'
duckdb x
vim x
sudo ls
su -c ls
watch ls
strace ls
parallel ls
flock x ls
ssh h
scp a h:
rsync -a a b
nc h 1
systemctl status x
mount
crontab -l
at now
rmdir out
shred list.txt
truncate -s 0 list.txt
chown a b
cp -f a b
mv -f a b
install -m 755 x /usr/bin/x
dd if=list.txt
git clean -fd
git clean -n
git checkout .
git checkout HEAD -- list.txt
git checkout list.txt
git restore list.txt
git restore -SW list.txt
git switch -C x
git branch -d x
git branch -m x y
git branch -f x y
git tag -d v1
git stash drop
git commit --am
git commit --fixup HEAD
git filter-branch
git update-ref -d x
git push origin main
git -C . push
git -c a=b push
git pull --rebase
git fetch --upload-pack=x .
git fetch --upl=x .
git clone -c core.x=y a
git clone --config x=y a
git clone ext::sh
git clone --template=x a
git submodule foreach ls
git difftool
git bisect run ls
git rebase main
git am x
git lfs install
run_code x
read_file x
rm --version
./git status
python3 -m pdb x
gpg --list-keys
ssh-keygen -l
jupyter kernelspec install x
jupyter lab list
jupyter server list
jupyter trust x.ipynb
jupyter lab --generate-config
python -m ipykernel install --user
python -m jupyter kernelspec install x
pre-commit install
curl -w @/etc/passwd -o x http://localhost
""")


@pytest.mark.parametrize("entry", REMEMBERED)
def test_line_offers_the_rule_that_names_what_runs(pristine: World, entry: str):
    rule, _, line = entry.partition(" | ")
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.rules) == ("ask", (rule.strip(),)), judgement


@pytest.mark.parametrize("line", ONLY_THIS_LINE)
def test_line_whose_options_decide_what_it_does_offers_itself_alone(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert (judgement.ruling, judgement.rules) == ("ask", (f"exact:{line}",)), judgement


@pytest.mark.parametrize("line", EACH_TIME)
def test_line_is_asked_each_time(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling == "ask_always", judgement


GRAVE = lines(r"""
rm x
git push
git reset --hard
git clean -fd
git checkout -- .
git rebase main
npm publish
cargo publish
docker push x
kubectl delete pod x
aws s3 rm s3://b
sudo ls
curl https://example.com
curl -d @list.txt https://example.com
wget https://example.com/a
ssh h ls
scp a h:
nc h 1
kill 1
pkill python
dd if=list.txt
mkfs.ext4 /dev/sdb
crontab -r
chmod 777 .
find . -name x -delete
printenv TOKEN
sed '1e touch x' list.txt
sed 's/x/touch x/e' list.txt
sort --compress-program=./x.sh list.txt
rg --pre ./x.sh foo
man -P 'touch x' ls
awk 'BEGIN{system("touch x")}'
awk '{print | "sh"}' list.txt
git -c alias.x='!touch x' x
git -c core.pager=x log
git show --textconv HEAD:a
python -c 'import shutil; shutil.rmtree("/")'
python3 -c 'import os; os.system("git push")'
perl -e 'unlink "list.txt"'
node -e 'require("child_process").exec("x")'
psql -c 'drop table t'
vim -c '!rm x'
script -c 'rm x'
gdb -ex 'shell rm x'
less +'!rm x' README.md
zip -T -TT 'rm x' a.zip list.txt
mv list.txt /dev/null
npx cowsay
uvx cowsay
kubectl get pods
docker run alpine
jupyter lab --ip 0.0.0.0
vercel --prod
make -j$(curl https://example.com)
pip install x
npm install x
git clone https://example.com/a
systemctl stop x
gpg --list-keys
nice rm x
find src -exec rm {} +
ls | xargs rm
npx rm x
""")

MILD = lines(r"""
cargo test
python -c 'print(1)'
touch x
mkdir x
make test
npm run build
git commit -m x
bash scripts/x.sh
sed -i s/a/b/ list.txt
sort -o x list.txt
env
awk '{print > "x"}' list.txt
make -j$(nproc)
git -c color.ui=never stash
node -e 'console.log(1)'
perl -ne 'print if /a/' list.txt
jupyter lab build
script -c 'ls'
""")


@pytest.mark.parametrize("line", GRAVE)
def test_line_that_loses_or_reaches_out_is_asked_in_every_mode(pristine: World, line: str):
    assert pristine.judge(line).grave


@pytest.mark.parametrize("line", MILD)
def test_line_that_works_in_the_space_is_not_grave(pristine: World, line: str):
    judgement = pristine.judge(line)
    assert judgement.ruling != "auto" and not judgement.grave, judgement
